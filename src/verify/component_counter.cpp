#include "verify/component_counter.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "ops/noise.hpp"

namespace moe::verify {
namespace {

uint64_t key_of(uint64_t seed, CounterTag tag) {
  return ops::mix_bits(seed * 256 + static_cast<uint64_t>(tag));
}

}  // namespace

uint64_t counter_bits(uint64_t seed, CounterTag tag, uint64_t index) {
  return ops::mix_bits(key_of(seed, tag) + index);
}

void counter_values(uint64_t seed, CounterTag tag, uint64_t first, double scale,
                    std::span<Bf16> out) {
  const uint64_t key = key_of(seed, tag);
  const auto unit = static_cast<float>(scale / (1 << 23));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto k = static_cast<int32_t>(ops::mix_bits(key + first + i) >> 40) - (1 << 23);
    out[i] = to_bf16(static_cast<float>(k) * unit);
  }
}

void counter_expert_ids(uint64_t seed, int64_t token, int64_t experts, std::span<int32_t> out) {
  std::vector<int32_t> order(static_cast<size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  const uint64_t first = static_cast<uint64_t>(token) * out.size();
  for (size_t k = 0; k < out.size(); ++k) {
    const uint64_t bits = counter_bits(seed, CounterTag::kIds, first + k);
    const size_t j = k + static_cast<size_t>(bits % (order.size() - k));
    std::swap(order[k], order[j]);
    out[k] = order[k];
  }
}

void counter_weights(uint64_t seed, int64_t token, std::span<float> out) {
  const uint64_t first = static_cast<uint64_t>(token) * out.size();
  for (size_t k = 0; k < out.size(); ++k) {
    const uint64_t bits = counter_bits(seed, CounterTag::kWeights, first + k) >> 40;
    out[k] = static_cast<float>(bits + 1) * 0x1p-24F;
  }
}

}  // namespace moe::verify
