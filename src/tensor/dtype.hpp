// Element types that operations compute with, and the BF16 value itself.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace moe {

enum class DType : uint8_t { kBf16, kF32, kI32, kI64 };

constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return 2;
    case DType::kF32:
      return 4;
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return "bf16";
    case DType::kF32:
      return "f32";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
  }
  return "?";
}

// bfloat16 as stored: the upper half of an IEEE binary32.
struct Bf16 {
  uint16_t bits = 0;
  friend constexpr bool operator==(Bf16, Bf16) = default;  // of bits, so NaN equals itself
};
static_assert(sizeof(Bf16) == 2);

// Exact.
constexpr float to_f32(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Nearest, ties to even. A NaN stays a NaN (made quiet), an overflow becomes infinity.
constexpr Bf16 to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

// b() of the numeric contract: rounds to BF16 and widens again.
constexpr float round_bf16(float value) { return to_f32(to_bf16(value)); }

}  // namespace moe
