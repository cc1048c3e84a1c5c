// Element types that a safetensors file can hold, with their size and their name in the format.
// What the engine computes with is a smaller set: see tensor/dtype.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace moe::io {

enum class StoredType : uint8_t {
  kBf16,
  kF16,
  kF32,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kF8E4M3,
  kF8E5M2,
};

inline constexpr std::array kAllStoredTypes = {
    StoredType::kBf16, StoredType::kF16,    StoredType::kF32,   StoredType::kF64,
    StoredType::kI8,   StoredType::kU8,     StoredType::kI16,   StoredType::kU16,
    StoredType::kI32,  StoredType::kU32,    StoredType::kI64,   StoredType::kU64,
    StoredType::kBool, StoredType::kF8E4M3, StoredType::kF8E5M2};

// Bytes of one element.
constexpr int64_t size_of(StoredType type) {
  switch (type) {
    case StoredType::kI8:
    case StoredType::kU8:
    case StoredType::kBool:
    case StoredType::kF8E4M3:
    case StoredType::kF8E5M2:
      return 1;
    case StoredType::kBf16:
    case StoredType::kF16:
    case StoredType::kI16:
    case StoredType::kU16:
      return 2;
    case StoredType::kF32:
    case StoredType::kI32:
    case StoredType::kU32:
      return 4;
    case StoredType::kF64:
    case StoredType::kI64:
    case StoredType::kU64:
      return 8;
  }
  return 0;
}

// The name in a safetensors header, such as "BF16".
constexpr std::string_view name_of(StoredType type) {
  switch (type) {
    case StoredType::kBf16:
      return "BF16";
    case StoredType::kF16:
      return "F16";
    case StoredType::kF32:
      return "F32";
    case StoredType::kF64:
      return "F64";
    case StoredType::kI8:
      return "I8";
    case StoredType::kU8:
      return "U8";
    case StoredType::kI16:
      return "I16";
    case StoredType::kU16:
      return "U16";
    case StoredType::kI32:
      return "I32";
    case StoredType::kU32:
      return "U32";
    case StoredType::kI64:
      return "I64";
    case StoredType::kU64:
      return "U64";
    case StoredType::kBool:
      return "BOOL";
    case StoredType::kF8E4M3:
      return "F8_E4M3";
    case StoredType::kF8E5M2:
      return "F8_E5M2";
  }
  return "?";
}

constexpr std::optional<StoredType> stored_type_of(std::string_view name) {
  for (StoredType type : kAllStoredTypes) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace moe::io
