// The random numbers of sampling: a hash of (seed, position, token), so that a draw depends on the
// request alone, not on the batch, the device or earlier draws. Any thread.
#pragma once

#include <cstdint>

#include "ops/math64.hpp"

namespace moe::ops {

// The finaliser of the splitmix64 generator: a bijection of 64 bits.
constexpr uint64_t mix_bits(uint64_t v) {
  v += 0x9E3779B97F4A7C15U;
  v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9U;
  v = (v ^ (v >> 27)) * 0x94D049BB133111EBU;
  return v ^ (v >> 31);
}

// Uniform in (0, 1): the upper 52 bits of mix(mix(mix(seed) + position) + token), plus a half.
constexpr double uniform_noise(uint64_t seed, int64_t position, int64_t token) {
  const uint64_t row = mix_bits(mix_bits(seed) + static_cast<uint64_t>(position));
  const uint64_t bits = mix_bits(row + static_cast<uint64_t>(token)) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

// Standard Gumbel: -ln(-ln u). The token with the largest logit + noise is a draw from the softmax.
inline double gumbel_noise(uint64_t seed, int64_t position, int64_t token) {
  return -log_f64(-log_f64(uniform_noise(seed, position, token)));
}

}  // namespace moe::ops
