#include "providers/cpu/attention/attention.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked_math.hpp"
#include "ops/validate.hpp"
#include "providers/cpu/workspace.hpp"

namespace moe::providers::cpu {
namespace {

constexpr int64_t kTile = ops::kAttentionTile;
// Queries of one task: enough to make a key tile worth loading, few enough that their outputs stay
// in L1 (32 x 128 FP32 values are 16 KiB).
constexpr int64_t kQueries = 32;
constexpr int64_t kHeadsPerTask = 16;

// Query rows [row, row + count) of sequence s; the first one is token `position`.
struct QueryBlock {
  int64_t sequence;
  int64_t row;
  int64_t count;
  int64_t position;
};

// How the heads and rows of a call are cut. Depends on shapes and threads only; not on contents.
struct Cut {
  int64_t group = 0;       // query heads a cache head
  int64_t heads = 0;       // query heads a task, all of one cache head
  int64_t head_tasks = 0;  // tasks a cache head
  int64_t rows = 0;        // query rows a task, at most
  int64_t value_dim = 0;
  int64_t most_blocks = 0;  // query blocks, at most

  uint64_t slot_bytes() const {
    return static_cast<uint64_t>(kQueries * round_up(value_dim, kTile)) * sizeof(float);
  }
  uint64_t block_bytes() const {
    return round_up(static_cast<uint64_t>(most_blocks) * sizeof(QueryBlock), uint64_t{64});
  }
};

Cut cut_of(const ops::AttentionPaged& op) {
  Cut cut;
  cut.group = op.heads / op.kv_heads;
  cut.head_tasks = ceil_div(cut.group, kHeadsPerTask);
  cut.heads = ceil_div(cut.group, cut.head_tasks);
  cut.rows = std::max(int64_t{1}, kQueries / cut.heads);
  cut.value_dim = op.cache.values.cols / op.kv_heads;
  cut.most_blocks = std::min(op.q.rows, op.context_length.size + op.q.rows / cut.rows);
  return cut;
}

bool sizes_make_sense(const ops::AttentionPaged& op) {
  return op.kv_heads > 0 && op.heads >= op.kv_heads;
}

int64_t list_blocks(const ops::AttentionPaged& op, const Cut& cut, QueryBlock* blocks) {
  int64_t block_count = 0;
  for (int64_t s = 0; s < op.context_length.size; ++s) {
    const int64_t end = op.query_begin[s + 1];
    const int64_t first = op.context_length[s] - (end - op.query_begin[s]);
    for (int64_t row = op.query_begin[s]; row < end; row += cut.rows) {
      blocks[block_count++] = {s, row, std::min(cut.rows, end - row),
                               first + (row - op.query_begin[s])};
    }
  }
  return block_count;
}

// Keys and values of one tile for one cache head.
struct TileRows {
  const Bf16* keys[kTile];
  const Bf16* values[kTile];
  int64_t count;
};

void find_rows(const ops::AttentionPaged& op, const Cut& cut, int64_t sequence, int64_t kv_head,
               int64_t begin, int64_t end, TileRows& tile) {
  const int32_t* blocks = op.block_tables.data + sequence * op.max_blocks;
  int64_t page = begin / op.cache.block_size;
  int64_t offset = begin % op.cache.block_size;
  tile.count = std::min(kTile, end - begin);
  for (int64_t j = 0; j < tile.count; ++j) {
    const int64_t row = blocks[page] * op.cache.block_size + offset;
    tile.keys[j] = op.cache.keys.bf16_row(row) + kv_head * op.head_dim;
    tile.values[j] = op.cache.values.bf16_row(row) + kv_head * cut.value_dim;
    if (++offset == op.cache.block_size) {
      offset = 0;
      ++page;
    }
  }
}

// One task: `heads` heads from `head` for the rows of a block. Query i is row i / heads.
class AttentionTask {
 public:
  AttentionTask(const ops::AttentionPaged& op, const Cut& cut, const QueryBlock& block,
                int64_t kv_head, int64_t first_head, float* acc)
      : op_(op),
        cut_(cut),
        block_(block),
        kv_head_(kv_head),
        head_(kv_head * cut.group + first_head),
        heads_(std::min(cut.heads, cut.group - first_head)),
        acc_stride_(round_up(cut.value_dim, kTile)),
        acc_(acc) {}

  void run(const KernelTable& kernels) {
    const int64_t queries = block_.count * heads_;
    const Bf16* q[kQueries];
    for (int64_t i = 0; i < queries; ++i) {
      q[i] = op_.q.bf16_row(block_.row + i / heads_) + (head_ + i % heads_) * op_.head_dim;
      states_[i] = {-std::numeric_limits<float>::infinity(), 0.0F};
    }
    std::fill_n(acc_, queries * acc_stride_, 0.0F);
    const int64_t end = block_.position + block_.count;
    for (int64_t begin = 0; begin < end; begin += kTile) {
      TileRows tile;
      find_rows(op_, cut_, block_.sequence, kv_head_, begin, end, tile);
      // Rows before `first` lie entirely before this tile.
      const int64_t first = std::max(int64_t{0}, begin - block_.position) * heads_;
      float scores[kQueries * kTile];
      kernels.dots({.x = q + first,
                    .x_rows = queries - first,
                    .w = tile.keys,
                    .w_rows = tile.count,
                    .k = op_.head_dim,
                    .out = scores + first * kTile,
                    .out_stride = kTile});
      for (int64_t i = first; i < queries; ++i) add_tile(kernels, tile, begin, i, scores);
    }
    for (int64_t i = 0; i < queries; ++i) {
      Bf16* out = op_.out.bf16_row(block_.row + i / heads_) + (head_ + i % heads_) * cut_.value_dim;
      kernels.narrow_divided(acc_ + i * acc_stride_, states_[i].sum, out, cut_.value_dim);
    }
  }

 private:
  void add_tile(const KernelTable& kernels, const TileRows& tile, int64_t begin, int64_t query,
                const float* scores) {
    const int64_t position = block_.position + query / heads_;
    kernels.attention_tile({.state = &states_[query],
                            .acc = acc_ + query * acc_stride_,
                            .scores = scores + query * kTile,
                            .scale = op_.scale,
                            .count = std::min(tile.count, position + 1 - begin),
                            .values = tile.values,
                            .value_dim = cut_.value_dim});
  }

  const ops::AttentionPaged& op_;
  const Cut& cut_;
  const QueryBlock& block_;
  int64_t kv_head_;
  int64_t head_;
  int64_t heads_;
  int64_t acc_stride_;
  float* acc_;
  SoftmaxState states_[kQueries];
};

}  // namespace

Status run_kv_cache_store(const ops::KvCacheStore& op) {
  TRY(ops::validate(op));
  // In order, since two tokens may name one slot.
  for (int64_t t = 0; t < op.slots.size; ++t) {
    const int64_t slot = op.slots[t];
    if (slot < 0) continue;
    std::memcpy(op.cache.keys.bf16_row(slot), op.k.bf16_row(t),
                static_cast<size_t>(op.k.cols) * sizeof(Bf16));
    std::memcpy(op.cache.values.bf16_row(slot), op.v.bf16_row(t),
                static_cast<size_t>(op.v.cols) * sizeof(Bf16));
  }
  return {};
}

Status run_attention_paged(const ops::AttentionPaged& op, CpuDevice& device,
                           const KernelTable& kernels, ops::Workspace workspace) {
  TRY(ops::validate(op));
  TRY(check_workspace(workspace, workspace_of(op, device.threads())));
  const Cut cut = cut_of(op);
  auto* blocks = static_cast<QueryBlock*>(workspace.data);
  auto* slots = static_cast<std::byte*>(workspace.data) + cut.block_bytes();
  const int64_t block_count = list_blocks(op, cut, blocks);
  int64_t scored = 0;
  for (int64_t b = 0; b < block_count; ++b) {
    scored += (blocks[b].position + blocks[b].count) * blocks[b].count;
  }
  const int64_t work = scored * op.heads * (op.head_dim + cut.value_dim);
  const int64_t head_tasks = op.kv_heads * cut.head_tasks;
  device.for_tasks(block_count * head_tasks, work, [&](int64_t task, int64_t slot) {
    // Later blocks of a prompt see more keys: the long tasks go first.
    const QueryBlock& block = blocks[block_count - 1 - task / head_tasks];
    const int64_t kv_head = task % head_tasks / cut.head_tasks;
    const int64_t first_head = task % cut.head_tasks * cut.heads;
    if (first_head >= cut.group) return;
    auto* acc = reinterpret_cast<float*>(slots + static_cast<uint64_t>(slot) * cut.slot_bytes());
    AttentionTask(op, cut, block, kv_head, first_head, acc).run(kernels);
  });
  return {};
}

uint64_t workspace_of(const ops::AttentionPaged& op, int threads) {
  if (!sizes_make_sense(op)) return 0;  // such a call fails its validation
  const Cut cut = cut_of(op);
  return cut.block_bytes() + static_cast<uint64_t>(threads) * cut.slot_bytes();
}

}  // namespace moe::providers::cpu
