// Pairs sorted by expert, and cut into blocks of rows that one task can take: the plan that the
// expert operations run by. A counting sort, so pairs of an expert keep their order.
#pragma once

#include <cstdint>

#include "moe/result.hpp"
#include "ops/variant.hpp"
#include "tensor/view.hpp"

namespace moe::providers::cpu {

// `count` pairs of one expert: order[begin .. begin + count). Expert -1 is "not on this rank".
struct PairBlock {
  int64_t expert;
  int64_t begin;
  int64_t count;
};

struct PairPlan {
  const int64_t* order = nullptr;  // [P], pair numbers by ascending expert
  const PairBlock* blocks = nullptr;
  int64_t block_count = 0;
};

// What plan_pairs needs for `pairs` pairs of `experts` experts.
uint64_t pair_plan_bytes(int64_t pairs, int64_t experts);

// Builds the plan in `workspace`; ids are in [-1, experts). Errors: invalid_argument for a
// workspace that is too small.
Result<PairPlan> plan_pairs(Array<const int32_t> expert_ids, int64_t experts,
                            ops::Workspace workspace);

}  // namespace moe::providers::cpu
