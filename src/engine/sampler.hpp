// Draws the next token of several sequences with the device's sampling operation.
#pragma once

#include <span>
#include <vector>

#include "engine/sequence.hpp"
#include "ops/op_runner.hpp"

namespace moe::engine {

struct Draw {
  int32_t token = 0;
  std::optional<PositionLogprobs> logprobs;  // where the sequence asked for them
};

class Sampler {
 public:
  explicit Sampler(Device& device) : device_(device) {}

  // logits: [sequences.size(), V] on the device, one row a sequence.
  // Errors: the operation's; out_of_memory.
  Result<std::vector<Draw>> draw(ops::OpRunner& runner, ConstView logits,
                                 std::span<Sequence* const> sequences);

 private:
  // A device buffer of at least `bytes`, kept for later calls.
  Result<std::byte*> room(uint64_t bytes);

  Device& device_;
  Buffer buffer_;
};

}  // namespace moe::engine
