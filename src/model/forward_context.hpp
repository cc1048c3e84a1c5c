// What a forward pass works with: operations, memory for intermediate results, and the batch.
#pragma once

#include <span>

#include "ops/attention.hpp"
#include "ops/op_runner.hpp"
#include "tensor/arena.hpp"

namespace moe::model {

// T tokens of S sequences; all arrays are on the device. Tokens of one sequence are neighbours, in
// ascending position.
struct BatchView {
  Array<const int32_t> tokens;          // [T]
  Array<const int32_t> positions;       // [T]
  Array<const int32_t> slots;           // [T]: row of the KV cache that the token fills
  Array<const int32_t> query_begin;     // [S + 1]
  Array<const int32_t> context_length;  // [S]
  Array<const int32_t> block_tables;    // [S, max_blocks]
  int64_t max_blocks = 0;
  Array<const int32_t> token_of_pair;  // [T * K]: p / K, the row map of the expert block

  int64_t token_count() const { return tokens.size; }
};

struct ForwardContext {
  ops::OpRunner& ops;
  Arena& arena;
  const BatchView& batch;
};

}  // namespace moe::model
