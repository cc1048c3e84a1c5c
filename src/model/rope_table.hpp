// The cos/sin table of RoPE, made on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dtype.hpp"

namespace moe::model {

// [positions, rotary_dim] bf16: cos of each pair's angle in the first half, sin in the second.
// inv_freq = 1 / theta^(2i/rotary_dim), angle, cos and sin in FP32, then b() (docs/numerics.md).
std::vector<Bf16> rope_table(double theta, int64_t rotary_dim, int64_t positions);

}  // namespace moe::model
