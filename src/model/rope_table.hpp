// The cos/sin table of RoPE, made on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "io/rope_config.hpp"
#include "tensor/dtype.hpp"

namespace moe::model {

// Whether rope_table() knows the settings: the default embedding and llama3 scaling.
// Errors: unsupported naming the type, corrupt for factors that contradict each other.
Status check_rope(const io::RopeConfig& rope);

// The frequency of each rotated pair, [rotary_dim / 2], in FP32: 1 / theta^(2i/rotary_dim).
// llama3 divides by `factor` where the wave is longer than original / low_freq_factor positions,
// keeps it where it is shorter than original / high_freq_factor, and blends in between.
std::vector<float> rope_frequencies(const io::RopeConfig& rope, int64_t rotary_dim);

// [positions, rotary_dim] bf16: cos of each pair's angle in the first half, sin in the second.
// Angle, cos and sin in FP32, then b() (docs/numerics.md).
std::vector<Bf16> rope_table(const io::RopeConfig& rope, int64_t rotary_dim, int64_t positions);

}  // namespace moe::model
