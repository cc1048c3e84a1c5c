// The input recipe of the large cases: element i of tensor `tag` is a function of (seed, tag, i).
// bits = mix(mix(seed * 256 + tag) + i) modulo 2^64, mix being ops::mix_bits.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/dtype.hpp"

namespace moe::verify {

enum class CounterTag : uint8_t { kX, kGate, kUp, kDown, kIds, kWeights };

uint64_t counter_bits(uint64_t seed, CounterTag tag, uint64_t index);

// Elements first, first + 1, ... of a BF16 tensor: b((k - 2^23) / 2^23 * scale) of the upper 24
// bits k. `scale` is a power of two, so that only b() rounds.
void counter_values(uint64_t seed, CounterTag tag, uint64_t first, double scale,
                    std::span<Bf16> out);

// The experts of `token`: out.size() different ones, by swaps over the list 0 .. experts-1.
void counter_expert_ids(uint64_t seed, int64_t token, int64_t experts, std::span<int32_t> out);

// The routing weights of `token`, in (0, 1].
void counter_weights(uint64_t seed, int64_t token, std::span<float> out);

}  // namespace moe::verify
