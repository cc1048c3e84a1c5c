// Overflow-checked arithmetic for sizes that come from files or the network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace moe {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Product of all factors; 1 for none.
inline std::optional<uint64_t> checked_product(std::span<const uint64_t> factors) {
  uint64_t product = 1;
  for (uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

template <class Int>
constexpr Int ceil_div(Int a, Int b) {
  return static_cast<Int>((a + b - 1) / b);
}

template <class Int>
constexpr Int round_up(Int a, Int multiple) {
  return static_cast<Int>(ceil_div(a, multiple) * multiple);
}

}  // namespace moe
