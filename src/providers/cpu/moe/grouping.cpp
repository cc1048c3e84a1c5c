#include "providers/cpu/moe/grouping.hpp"

#include <algorithm>

#include "providers/cpu/gemm/block_gemm.hpp"
#include "providers/cpu/workspace.hpp"

namespace moe::providers::cpu {
namespace {

// One bucket an expert, and one in front for -1.
int64_t bucket_count(int64_t experts) { return experts + 1; }

// Each bucket that is used may end in one block that is not full.
int64_t most_blocks(int64_t pairs, int64_t experts) {
  return std::min(pairs, bucket_count(experts)) + pairs / kRowBlock;
}

}  // namespace

uint64_t pair_plan_bytes(int64_t pairs, int64_t experts) {
  return static_cast<uint64_t>(bucket_count(experts) + 1 + pairs) * sizeof(int64_t) +
         static_cast<uint64_t>(most_blocks(pairs, experts)) * sizeof(PairBlock);
}

Result<PairPlan> plan_pairs(Array<const int32_t> expert_ids, int64_t experts,
                            ops::Workspace workspace) {
  const int64_t pairs = expert_ids.size;
  TRY(check_workspace(workspace, pair_plan_bytes(pairs, experts)));
  const int64_t buckets = bucket_count(experts);
  auto* next = static_cast<int64_t*>(workspace.data);  // [buckets + 1]
  int64_t* order = next + buckets + 1;                 // [pairs]
  auto* blocks = reinterpret_cast<PairBlock*>(order + pairs);

  std::fill_n(next, buckets + 1, 0);
  for (int64_t p = 0; p < pairs; ++p) ++next[expert_ids[p] + 2];
  for (int64_t bucket = 1; bucket <= buckets; ++bucket) next[bucket] += next[bucket - 1];
  // next[bucket] is where the bucket's next pair goes; at the end, where the following one begins.
  for (int64_t p = 0; p < pairs; ++p) order[next[expert_ids[p] + 1]++] = p;

  int64_t block_count = 0;
  int64_t begin = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    for (; begin < next[bucket]; ++block_count) {
      const int64_t count = std::min(kRowBlock, next[bucket] - begin);
      blocks[block_count] = {bucket - 1, begin, count};
      begin += count;
    }
  }
  return PairPlan{order, blocks, block_count};
}

}  // namespace moe::providers::cpu
