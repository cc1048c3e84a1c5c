// The dot product of the numeric contract on the CPU, and the fold of its 16 lanes. The order
// (docs/numerics.md, class kLanes16) depends on the length alone. Scalar; providers vectorise the
// same order. Any thread.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe::ops {

constexpr int64_t kDotLanes = 16;
constexpr int64_t kDotBlock = 2 * kDotLanes;

// 16 -> 8 -> 4 -> 2 -> 1, lane j plus lane j + half.
inline float fold_lanes(std::array<float, kDotLanes> lanes) {
  for (size_t half = kDotLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

inline float widened(Bf16 value) { return to_f32(value); }
inline float widened(float value) { return value; }

// sum of x[i] * w[i] over `count` elements in FP32; W is Bf16 or float. In each block of 32, lane j
// takes element 2j+1 and then element 2j; what the last block lacks counts as zero.
template <class W>
inline float dot32(const Bf16* x, const W* w, int64_t count) {
  std::array<float, kDotLanes> lanes{};
  for (int64_t block = 0; block < count; block += kDotBlock) {
    for (int64_t j = 0; j < kDotLanes; ++j) {
      const int64_t even = block + 2 * j;
      float& lane = lanes[static_cast<size_t>(j)];
      if (even + 1 < count) lane += to_f32(x[even + 1]) * widened(w[even + 1]);
      if (even < count) lane += to_f32(x[even]) * widened(w[even]);
    }
  }
  return fold_lanes(lanes);
}

}  // namespace moe::ops
