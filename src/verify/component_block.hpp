// One expert block on the device: its inputs, and the two chains through the op surface. One
// thread.
#pragma once

#include <span>
#include <vector>

#include "moe/result.hpp"
#include "ops/moe.hpp"
#include "verify/component_cases.hpp"
#include "verify/component_device.hpp"

namespace moe::verify {

// The three buffers that a chain produces.
struct BlockOutputs {
  std::vector<Bf16> act;   // [M * topk, I]
  std::vector<Bf16> down;  // [M * topk, H]
  std::vector<Bf16> y;     // [M, H]
};

class ExpertBlock {
 public:
  // Weights are allocated, not filled: fill_expert must follow for every expert that a token uses.
  static Result<ExpertBlock> create(VerifyDevice target, const BlockShape& shape,
                                    std::span<const Bf16> x, std::span<const int32_t> ids,
                                    std::span<const float> weights, bool expert_pointers);

  // One expert's [I, H], [I, H] and [H, I].
  Status fill_expert(int64_t expert, std::span<const Bf16> gate, std::span<const Bf16> up,
                     std::span<const Bf16> down);

  Result<BlockOutputs> run(ops::MoeNumerics numerics);

 private:
  ExpertBlock(VerifyDevice target, const BlockShape& shape) : runner_(target), shape_(shape) {}
  Status set_pointers();
  // The experts' matrices [rows, cols] in `weights`; `which` is their place among the addresses.
  ops::ExpertMatrices matrices(const Buffer& weights, int64_t which, int64_t rows,
                               int64_t cols) const;

  DeviceRunner runner_;
  BlockShape shape_;
  Buffer x_;
  Buffer ids_;
  Buffer weights_;
  Buffer row_map_;
  Buffer gate_;
  Buffer up_;
  Buffer down_;
  bool with_pointers_ = false;
  Buffer pointers_;  // gate, up and down addresses of every expert
};

}  // namespace moe::verify
