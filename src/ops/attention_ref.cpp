// The references of attention.hpp. Keys are taken in tiles of 16 absolute positions whatever the
// page size, so a row's bits do not depend on how the cache is paged.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "ops/attention.hpp"
#include "ops/dot.hpp"
#include "ops/exp.hpp"
#include "ops/validate.hpp"

namespace moe::ops {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// The running softmax of one query row and head.
struct OnlineSoftmax {
  float max = kMinusInfinity;
  float sum = 0;
  std::vector<float> acc;  // [value_dim]
};

// One tile: `count` scores and where the value of each lies.
struct Tile {
  std::array<float, kAttentionTile> scores;
  std::array<const Bf16*, kAttentionTile> values;
  int64_t count = 0;
};

void add_tile(OnlineSoftmax& state, const Tile& tile) {
  float max = state.max;
  for (int64_t j = 0; j < tile.count; ++j) {
    const float score = tile.scores[static_cast<size_t>(j)];
    max = score > max ? score : max;  // a NaN score reaches the sum instead
  }
  // With nothing above -inf yet, subtracting the maximum would make NaN out of (-inf) - (-inf).
  const float base = max == kMinusInfinity ? 0.0F : max;
  const float alpha = exp_f32(state.max - base);
  for (float& value : state.acc) value *= alpha;
  state.sum *= alpha;
  for (int64_t j = 0; j < tile.count; ++j) {
    const float p = exp_f32(tile.scores[static_cast<size_t>(j)] - base);
    state.sum += p;
    const float rounded = round_bf16(p);
    const Bf16* value = tile.values[static_cast<size_t>(j)];
    for (size_t d = 0; d < state.acc.size(); ++d) state.acc[d] += rounded * to_f32(value[d]);
  }
  state.max = max;
}

// Head h of the query in row t, which is token `position` of sequence s.
void attend(const AttentionPaged& op, int64_t t, int64_t h, int64_t s, int64_t position) {
  const int64_t value_dim = op.cache.values.cols / op.kv_heads;
  const int64_t kv_head = h / (op.heads / op.kv_heads);
  const Bf16* query = op.q.bf16_row(t) + h * op.head_dim;
  const int32_t* blocks = op.block_tables.data + s * op.max_blocks;
  OnlineSoftmax state;
  state.acc.assign(static_cast<size_t>(value_dim), 0.0F);
  for (int64_t begin = 0; begin <= position; begin += kAttentionTile) {
    Tile tile;
    tile.count = std::min(kAttentionTile, position + 1 - begin);
    for (int64_t j = 0; j < tile.count; ++j) {
      const int64_t page = (begin + j) / op.cache.block_size;
      const int64_t row = blocks[page] * op.cache.block_size + (begin + j) % op.cache.block_size;
      const Bf16* key = op.cache.keys.bf16_row(row) + kv_head * op.head_dim;
      tile.scores[static_cast<size_t>(j)] = dot32(query, key, op.head_dim) * op.scale;
      tile.values[static_cast<size_t>(j)] = op.cache.values.bf16_row(row) + kv_head * value_dim;
    }
    add_tile(state, tile);
  }
  Bf16* out = op.out.bf16_row(t) + h * value_dim;
  for (size_t d = 0; d < state.acc.size(); ++d) out[d] = to_bf16(state.acc[d] / state.sum);
}

}  // namespace

Status kv_cache_store_ref(const KvCacheStore& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.slots.size; ++t) {
    if (op.slots[t] < 0) continue;
    std::copy_n(op.k.bf16_row(t), op.k.cols, op.cache.keys.bf16_row(op.slots[t]));
    std::copy_n(op.v.bf16_row(t), op.v.cols, op.cache.values.bf16_row(op.slots[t]));
  }
  return {};
}

Status attention_paged_ref(const AttentionPaged& op) {
  TRY(validate(op));
  for (int64_t s = 0; s < op.context_length.size; ++s) {
    const int64_t begin = op.query_begin[s];
    const int64_t end = op.query_begin[s + 1];
    for (int64_t t = begin; t < end; ++t) {
      const int64_t position = op.context_length[s] - (end - t);
      for (int64_t h = 0; h < op.heads; ++h) attend(op, t, h, s, position);
    }
  }
  return {};
}

}  // namespace moe::ops
