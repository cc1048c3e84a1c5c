#include "ops/validate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace moe::ops {
namespace {

constexpr std::string_view kShapeFix = "give every operand the shape and type that the op states";
constexpr std::string_view kIndexFix = "check the index array that the caller prepared";

Error wrong(OpId op, std::string what, std::string_view fix) {
  return invalid_argument(fmt::format("{}: {}", name_of(op), what), std::string(fix));
}

// Which element types an operand may have.
enum class Allowed : uint8_t { kBf16, kF32, kEither };

Status check_matrix(OpId op, std::string_view name, const ConstView& view, int64_t rows,
                    int64_t cols, Allowed allowed = Allowed::kBf16) {
  const bool bf16 = view.dtype == DType::kBf16 && allowed != Allowed::kF32;
  const bool f32 = view.dtype == DType::kF32 && allowed != Allowed::kBf16;
  const std::string_view wanted = allowed == Allowed::kBf16  ? "bf16"
                                  : allowed == Allowed::kF32 ? "f32"
                                                             : "bf16 or f32";
  if (view.rows != rows || view.cols != cols || !(bf16 || f32)) {
    return wrong(op,
                 fmt::format("{} is [{}, {}] {}, wanted [{}, {}] {}", name, view.rows, view.cols,
                             name_of(view.dtype), rows, cols, wanted),
                 kShapeFix);
  }
  if (view.rows > 1 && view.row_stride < view.cols) {
    return wrong(
        op,
        fmt::format("{} has row stride {} below its {} columns", name, view.row_stride, view.cols),
        kShapeFix);
  }
  return {};
}

Status check_size(OpId op, std::string_view name, int64_t size, int64_t wanted) {
  if (size == wanted) return {};
  return wrong(op, fmt::format("{} has {} entries, wanted {}", name, size, wanted), kShapeFix);
}

Status check_positive(OpId op, std::string_view name, int64_t value) {
  if (value > 0) return {};
  return wrong(op, fmt::format("{} is {}, wanted at least 1", name, value), kShapeFix);
}

// Every entry of `indices` lies in [low, end).
Status check_indices(OpId op, std::string_view name, Array<const int32_t> indices, int64_t low,
                     int64_t end) {
  for (int64_t i = 0; i < indices.size; ++i) {
    if (indices[i] >= low && indices[i] < end) continue;
    return wrong(op, fmt::format("{}[{}] is {}, outside [{}, {})", name, i, indices[i], low, end),
                 kIndexFix);
  }
  return {};
}

Status check_pairs(OpId op, const PairMap& pairs, int64_t pair_count, int64_t x_rows,
                   int64_t experts) {
  TRY(check_size(op, "expert_ids", pairs.expert_ids.size, pair_count));
  TRY(check_indices(op, "expert_ids", pairs.expert_ids, -1, experts));
  if (pairs.row_map.absent()) {
    if (pair_count <= x_rows) return {};
    return wrong(op,
                 fmt::format("x has {} rows for {} pairs without a row map", x_rows, pair_count),
                 kShapeFix);
  }
  TRY(check_size(op, "row_map", pairs.row_map.size, pair_count));
  return check_indices(op, "row_map", pairs.row_map, 0, x_rows);
}

Status check_experts(OpId op, std::string_view name, const ExpertMatrices& w, int64_t experts,
                     int64_t rows, int64_t cols) {
  if (w.experts != experts || w.rows != rows || w.cols != cols) {
    return wrong(op,
                 fmt::format("{} is {} experts of [{}, {}], wanted {} of [{}, {}]", name, w.experts,
                             w.rows, w.cols, experts, rows, cols),
                 kShapeFix);
  }
  if (w.rows > 1 && w.row_stride < w.cols) {
    return wrong(
        op, fmt::format("{} has row stride {} below its {} columns", name, w.row_stride, w.cols),
        kShapeFix);
  }
  if (w.pointers.absent()) return {};
  return check_size(op, fmt::format("{}.pointers", name), w.pointers.size, experts);
}

// What both combinations share; rows are [T * K, H].
Status check_combine(OpId op, const ConstView& rows, Array<const int32_t> ids, int64_t slots,
                     const View& y) {
  TRY(check_positive(op, "slots", slots));
  TRY(check_matrix(op, "rows", rows, y.rows * slots, y.cols));
  TRY(check_matrix(op, "y", y, y.rows, y.cols));
  TRY(check_size(op, "expert_ids", ids.size, rows.rows));
  return check_indices(op, "expert_ids", ids, -1, int64_t{1} << 31);
}

Status check_cache(OpId op, const KvCacheView& cache) {
  TRY(check_positive(op, "block_size", cache.block_size));
  TRY(check_matrix(op, "cache.keys", cache.keys, cache.keys.rows, cache.keys.cols));
  TRY(check_matrix(op, "cache.values", cache.values, cache.keys.rows, cache.values.cols));
  if (cache.keys.rows % cache.block_size == 0) return {};
  return wrong(op,
               fmt::format("cache has {} rows, no multiple of its block size {}", cache.keys.rows,
                           cache.block_size),
               kShapeFix);
}

// One sequence of AttentionPaged: its lengths and the pages it reads.
Status check_sequence(const AttentionPaged& op, int64_t s) {
  const int64_t queries = int64_t{op.query_begin[s + 1]} - op.query_begin[s];
  const int64_t context = op.context_length[s];
  const int64_t room = op.max_blocks * op.cache.block_size;
  if (queries < 0 || context < queries || context > room) {
    return wrong(
        op.kId,
        fmt::format("sequence {} has {} queries and context length {}, wanted 0 <= queries "
                    "<= context <= {}",
                    s, queries, context, room),
        kIndexFix);
  }
  const int64_t pages = (context + op.cache.block_size - 1) / op.cache.block_size;
  const int64_t blocks = op.cache.keys.rows / op.cache.block_size;
  for (int64_t page = 0; page < pages; ++page) {
    const int32_t block = op.block_tables[s * op.max_blocks + page];
    if (block >= 0 && block < blocks) continue;
    return wrong(op.kId,
                 fmt::format("block_tables[{}][{}] is {}, outside [0, {})", s, page, block, blocks),
                 kIndexFix);
  }
  return {};
}

Status check_groups(const RouterTopK& op) {
  const int64_t experts = op.logits.cols;
  if (op.groups < 1 || experts % op.groups != 0) {
    return wrong(op.kId,
                 fmt::format("{} experts in {} groups, wanted equal groups", experts, op.groups),
                 kShapeFix);
  }
  if (op.kept_groups < 1 || op.kept_groups > op.groups) {
    return wrong(op.kId,
                 fmt::format("kept_groups is {}, wanted 1 to {}", op.kept_groups, op.groups),
                 kShapeFix);
  }
  const int64_t candidates = experts / op.groups * op.kept_groups;
  if (op.slots <= candidates) return {};
  return wrong(
      op.kId,
      fmt::format("{} experts wanted a token, but only {} are candidates", op.slots, candidates),
      kShapeFix);
}

Status check_sample_row(const SampleTokens& op, int64_t r) {
  const SampleRow& row = op.rows[r];
  const auto bad = [&](std::string_view name, double value, std::string_view wanted) {
    return wrong(op.kId, fmt::format("row {}: {} is {}, wanted {}", r, name, value, wanted),
                 "correct the sampling parameter of the request");
  };
  if (!(row.temperature >= 0) || !std::isfinite(row.temperature)) {
    return bad("temperature", row.temperature, "a finite number of at least 0");
  }
  if (!(row.top_p > 0 && row.top_p <= 1)) return bad("top_p", row.top_p, "above 0, at most 1");
  if (!(row.min_p >= 0 && row.min_p <= 1)) return bad("min_p", row.min_p, "0 to 1");
  if (!(row.repetition_penalty > 0) || !std::isfinite(row.repetition_penalty)) {
    return bad("repetition_penalty", row.repetition_penalty, "a finite number above 0");
  }
  if (!std::isfinite(row.presence_penalty) || !std::isfinite(row.frequency_penalty)) {
    return bad("presence or frequency penalty", row.presence_penalty + row.frequency_penalty,
               "finite numbers");
  }
  if (row.edit_begin < 0 || row.edit_end < row.edit_begin || row.edit_end > op.edits.size) {
    return wrong(
        op.kId,
        fmt::format("row {}: edits [{}, {}) of {}", r, row.edit_begin, row.edit_end, op.edits.size),
        kIndexFix);
  }
  for (int64_t i = row.edit_begin; i < row.edit_end; ++i) {
    if (op.edits[i].token >= 0 && op.edits[i].token < op.logits.cols) continue;
    return wrong(op.kId,
                 fmt::format("row {}: edit of token {}, outside [0, {})", r, op.edits[i].token,
                             op.logits.cols),
                 "name only tokens of the vocabulary");
  }
  return {};
}

}  // namespace

Status validate(const GatherRows& op) {
  TRY(check_matrix(op.kId, "table", op.table, op.table.rows, op.out.cols));
  TRY(check_matrix(op.kId, "out", op.out, op.ids.size, op.out.cols));
  return check_indices(op.kId, "ids", op.ids, 0, op.table.rows);
}

Status validate(const RmsNorm& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, op.x.cols));
  if (!op.residual.absent()) {
    TRY(check_matrix(op.kId, "residual", op.residual, op.x.rows, op.x.cols));
  }
  TRY(check_matrix(op.kId, "weight", op.weight, 1, op.x.cols));
  return check_matrix(op.kId, "out", op.out, op.x.rows, op.x.cols);
}

Status validate(const Rope& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.positions.size, op.x.cols));
  TRY(check_positive(op.kId, "head_dim", op.head_dim));
  if (op.x.cols % op.head_dim != 0) {
    return wrong(
        op.kId, fmt::format("x has {} columns, no multiple of head_dim {}", op.x.cols, op.head_dim),
        kShapeFix);
  }
  if (op.rotary_dim < 2 || op.rotary_dim % 2 != 0 || op.rotary_dim > op.head_dim) {
    return wrong(op.kId,
                 fmt::format("rotary_dim is {}, wanted an even number from 2 to {}", op.rotary_dim,
                             op.head_dim),
                 kShapeFix);
  }
  TRY(check_matrix(op.kId, "cos_sin", op.cos_sin, op.cos_sin.rows, op.rotary_dim));
  return check_indices(op.kId, "positions", op.positions, 0, op.cos_sin.rows);
}

Status validate(const Linear& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, op.w.cols));
  TRY(check_matrix(op.kId, "w", op.w, op.w.rows, op.w.cols));
  if (!op.bias.absent()) TRY(check_matrix(op.kId, "bias", op.bias, 1, op.w.rows));
  return check_matrix(op.kId, "y", op.y, op.x.rows, op.w.rows, Allowed::kEither);
}

Status validate(const LinearF32& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, op.w.cols));
  TRY(check_matrix(op.kId, "w", op.w, op.w.rows, op.w.cols, Allowed::kF32));
  return check_matrix(op.kId, "y", op.y, op.x.rows, op.w.rows, Allowed::kF32);
}

Status validate(const SiluMul& op) {
  const Allowed inputs = op.gate.dtype == DType::kF32 ? Allowed::kF32 : Allowed::kBf16;
  TRY(check_matrix(op.kId, "gate", op.gate, op.out.rows, op.out.cols, inputs));
  TRY(check_matrix(op.kId, "up", op.up, op.out.rows, op.out.cols, inputs));
  return check_matrix(op.kId, "out", op.out, op.out.rows, op.out.cols);
}

Status validate(const ScaleAdd& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.out.rows, op.out.cols));
  if (!op.gate.absent()) TRY(check_matrix(op.kId, "gate", op.gate, op.out.rows, 1));
  if (!op.addend.absent()) {
    TRY(check_matrix(op.kId, "addend", op.addend, op.out.rows, op.out.cols));
  }
  TRY(check_matrix(op.kId, "out", op.out, op.out.rows, op.out.cols));
  if (std::isfinite(op.scale) && (op.gate.absent() || op.scale == 1)) return {};
  return wrong(op.kId,
               fmt::format("scale is {}, wanted {}", op.scale,
                           op.gate.absent() ? "a finite number" : "1 beside a gate"),
               "correct the multiplier in config.json");
}

Status validate(const KvCacheStore& op) {
  TRY(check_cache(op.kId, op.cache));
  TRY(check_matrix(op.kId, "k", op.k, op.slots.size, op.cache.keys.cols));
  TRY(check_matrix(op.kId, "v", op.v, op.slots.size, op.cache.values.cols));
  return check_indices(op.kId, "slots", op.slots, -1, op.cache.keys.rows);
}

Status validate(const AttentionPaged& op) {
  TRY(check_cache(op.kId, op.cache));
  TRY(check_positive(op.kId, "heads", op.heads));
  TRY(check_positive(op.kId, "kv_heads", op.kv_heads));
  TRY(check_positive(op.kId, "head_dim", op.head_dim));
  if (op.heads % op.kv_heads != 0 || op.cache.values.cols % op.kv_heads != 0) {
    return wrong(op.kId,
                 fmt::format("{} heads and {} value columns, wanted multiples of {} kv_heads",
                             op.heads, op.cache.values.cols, op.kv_heads),
                 kShapeFix);
  }
  const int64_t value_dim = op.cache.values.cols / op.kv_heads;
  TRY(check_matrix(op.kId, "q", op.q, op.q.rows, op.heads * op.head_dim));
  TRY(check_matrix(op.kId, "cache.keys", op.cache.keys, op.cache.keys.rows,
                   op.kv_heads * op.head_dim));
  TRY(check_matrix(op.kId, "out", op.out, op.q.rows, op.heads * value_dim));
  const int64_t sequences = op.context_length.size;
  TRY(check_size(op.kId, "query_begin", op.query_begin.size, sequences + 1));
  TRY(check_size(op.kId, "block_tables", op.block_tables.size, sequences * op.max_blocks));
  if (op.query_begin[0] != 0 || op.query_begin[sequences] != op.q.rows) {
    return wrong(op.kId,
                 fmt::format("query_begin runs from {} to {}, wanted 0 to {}", op.query_begin[0],
                             op.query_begin[sequences], op.q.rows),
                 kIndexFix);
  }
  for (int64_t s = 0; s < sequences; ++s) TRY(check_sequence(op, s));
  return {};
}

Status validate(const MoeGateUpSilu& op) {
  const ExpertMatrices& gate = op.gate;
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, gate.cols));
  TRY(check_experts(op.kId, "gate", gate, gate.experts, gate.rows, gate.cols));
  TRY(check_experts(op.kId, "up", op.up, gate.experts, gate.rows, gate.cols));
  TRY(check_matrix(op.kId, "act", op.act, op.act.rows, gate.rows));
  return check_pairs(op.kId, op.pairs, op.act.rows, op.x.rows, gate.experts);
}

Status validate(const MoeGroupedGemm& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, op.w.cols));
  TRY(check_experts(op.kId, "w", op.w, op.w.experts, op.w.rows, op.w.cols));
  TRY(check_matrix(op.kId, "y", op.y, op.y.rows, op.w.rows, Allowed::kEither));
  return check_pairs(op.kId, op.pairs, op.y.rows, op.x.rows, op.w.experts);
}

Status validate(const MoeGroupedGemmWeighted& op) {
  TRY(check_matrix(op.kId, "x", op.x, op.x.rows, op.w.cols));
  TRY(check_experts(op.kId, "w", op.w, op.w.experts, op.w.rows, op.w.cols));
  TRY(check_matrix(op.kId, "y", op.y, op.y.rows, op.w.rows));
  TRY(check_size(op.kId, "routing_weights", op.routing_weights.size, op.y.rows));
  return check_pairs(op.kId, op.pairs, op.y.rows, op.x.rows, op.w.experts);
}

Status validate(const MoeCombine& op) {
  TRY(check_combine(op.kId, op.rows, op.expert_ids, op.slots, op.y));
  return check_size(op.kId, "routing_weights", op.routing_weights.size, op.rows.rows);
}

Status validate(const MoeCombinePreweighted& op) {
  return check_combine(op.kId, op.rows, op.expert_ids, op.slots, op.y);
}

Status validate(const RouterTopK& op) {
  TRY(check_matrix(op.kId, "logits", op.logits, op.logits.rows, op.logits.cols, Allowed::kEither));
  TRY(check_positive(op.kId, "slots", op.slots));
  TRY(check_groups(op));
  if (!op.bias.absent()) TRY(check_size(op.kId, "bias", op.bias.size, op.logits.cols));
  TRY(check_size(op.kId, "ids", op.ids.size, op.logits.rows * op.slots));
  return check_size(op.kId, "weights", op.weights.size, op.logits.rows * op.slots);
}

Status validate(const SampleTokens& op) {
  const int64_t rows = op.logits.rows;
  TRY(check_matrix(op.kId, "logits", op.logits, rows, op.logits.cols, Allowed::kEither));
  TRY(check_size(op.kId, "rows", op.rows.size, rows));
  TRY(check_size(op.kId, "tokens", op.tokens.size, rows));
  if (op.top_logprobs < 0 || op.top_logprobs > op.logits.cols) {
    return wrong(op.kId,
                 fmt::format("top_logprobs is {}, wanted 0 to the {} tokens there are",
                             op.top_logprobs, op.logits.cols),
                 "ask for fewer log-probabilities");
  }
  if (op.top_logprobs > 0) {
    const int64_t entries = rows * (op.top_logprobs + 1);
    TRY(check_size(op.kId, "logprob_tokens", op.logprob_tokens.size, entries));
    TRY(check_size(op.kId, "logprobs", op.logprobs.size, entries));
    TRY(check_size(op.kId, "ranks", op.ranks.size, rows));
  }
  for (int64_t r = 0; r < rows; ++r) TRY(check_sample_row(op, r));
  return {};
}

}  // namespace moe::ops
