// The tokens of one step, gathered on the host and copied to the device in one piece.
#pragma once

#include <span>
#include <vector>

#include "engine/sequence.hpp"
#include "model/forward_context.hpp"
#include "tensor/device.hpp"

namespace moe::engine {

// A part of a sequence that a step computes: tokens [begin, begin + count).
struct Slice {
  Sequence* sequence = nullptr;
  int64_t begin = 0;
  int64_t count = 0;

  int64_t end() const { return begin + count; }
  // Whether the last token of the slice is the sequence's last: its logits give the next one.
  bool completes() const { return end() == sequence->token_count(); }
};

struct BatchLimits {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t blocks_per_sequence = 0;
  int64_t block_size = 0;
  int64_t slots_per_token = 0;  // experts chosen per token, 0 without experts
};

class BatchBuffers {
 public:
  // Errors: out_of_memory.
  static Result<BatchBuffers> allocate(Device& device, const BatchLimits& limits);

  // The largest batch, with null arrays, for planning memory.
  static model::BatchView planned(const BatchLimits& limits);

  // Requires slices within the limits and pages for every token. Valid until the next call.
  Result<model::BatchView> upload(Device& device, std::span<const Slice> slices);

 private:
  explicit BatchBuffers(const BatchLimits& limits) : limits_(limits) {}

  BatchLimits limits_;
  std::vector<int32_t> host_;
  Buffer device_ids_;
  Buffer token_of_pair_;
};

}  // namespace moe::engine
