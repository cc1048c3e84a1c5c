// One operand: from its specification (isa/form.hpp) and encoded value to a typed Operand, or why
// it cannot be. Used by the decoder only. Threads: pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "moe/result.hpp"
#include "rdna/isa/instruction.hpp"

namespace moe::sim::rdna {

inline constexpr uint32_t kSourceLiteral = 255;
inline constexpr uint32_t kSourceVgpr0 = 256;

struct OperandContext {
  Encoding encoding{};
  uint32_t literal = 0;
  uint32_t first = 0;
  uint32_t second = 0;
  bool vector_second_source = false;
};

// The error's message says only what is wrong; the decoder adds where.
Result<Operand> make_operand(std::string_view spec, uint32_t code, const OperandContext& context);

// The pattern of inline constant 240..248 in a type.
uint64_t inline_float_bits(uint32_t code, ConstantType type);

bool is_known_dpp_control(uint32_t control);

}  // namespace moe::sim::rdna
