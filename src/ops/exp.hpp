// exp and silu in FP32, the one definition for the reference and every CPU provider.
//
// Only FP32 multiply, add, divide, compare-and-select, conversion and integer operations, no
// branch, no fused multiply-add, no libm: a compiler may vectorise a loop over these functions, and
// under -ffp-contract=off (set for the whole project) every lane gives the bits of the scalar call.
// They assume that subnormal results are not flushed. Any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace moe::ops {

// e^x within 1 ulp: exp(-inf) = 0, exp(0) = 1, overflow gives inf, underflow goes through the
// subnormals to 0, NaN stays NaN.
//
// e^x = 2^n * e^r with n = nearest integer to x / ln 2 and |r| <= ln 2 / 2. ln 2 is split in two,
// so that n * kLn2High is exact; e^r is 1 + r + r^2 * (minimax polynomial of degree 4).
inline float exp_f32(float x) {
  constexpr float kHighest = 89.0F;   // e^x is above the largest FP32 number
  constexpr float kLowest = -104.0F;  // e^x is below half the smallest one
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // 9 bits, n has at most 8
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23: adding it leaves no fraction bits

  float t = x < kHighest ? x : kHighest;  // NaN goes to kHighest, so the conversion is defined
  t = t > kLowest ? t : kLowest;
  const float n = (t * kLog2E + kRoundToInteger) - kRoundToInteger;
  const float r = (t - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = (p * (r * r) + r) + 1.0F;
  // Two factors, since 2^n alone may lie outside the normal range; only the last product rounds.
  const int32_t exponent = static_cast<int32_t>(n);
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((exponent - half + 127) << 23);
  const float result = (p * first) * second;
  return x == x ? result : x;
}

// v / (1 + e^-v). Very negative finite v gives -0, -inf gives NaN, as vLLM's activation kernel
// does.
inline float silu_f32(float v) { return v / (1.0F + exp_f32(-v)); }

// 1 / (1 + e^-v), with a division.
inline float sigmoid_f32(float v) { return 1.0F / (1.0F + exp_f32(-v)); }

}  // namespace moe::ops
