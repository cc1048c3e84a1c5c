// See operands.hpp.
#include "rdna/isa/operands.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"

namespace moe::sim::rdna {
namespace {

enum Allowed : uint32_t {
  kVector = 1,
  kScalarRegister = 2,
  kInline = 4,
  kLiteralWord = 8,
  kLowHalf = 16
};

constexpr uint32_t kScalarRegisters = 106;  // s0..s105
constexpr uint32_t kInlineIntFirst = 128;
constexpr uint32_t kInlineIntPositiveLast = 192;
constexpr uint32_t kInlineIntLast = 208;
constexpr uint32_t kInlineFloatFirst = 240;
constexpr uint32_t kInlineFloatLast = 248;
constexpr uint32_t kVectorRegisters = 256;
// 16-bit operations of the 32-bit encodings reach v0..v127 only: bit 7 would choose a half.
constexpr uint32_t kLowHalfRegisters = 128;

uint32_t digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>(c - 'a') + 10;
}

ConstantType constant_type(char letter) {
  switch (letter) {
    case 'w':
      return ConstantType::kB32;
    case 'h':
      return ConstantType::kF16;
    case 's':
      return ConstantType::kI16;
    case 'b':
      return ConstantType::kBf16;
    case 'p':
      return ConstantType::kPackedF16;
    case 'q':
      return ConstantType::kPackedBf16;
    case 'l':
      return ConstantType::kI64;
    case 'd':
      return ConstantType::kF64;
    default:
      return ConstantType::kNone;
  }
}

Error wrong(std::string what) { return unsupported(std::move(what)); }

Result<Operand> vector_register(Operand operand, uint32_t index, bool low_half) {
  const uint32_t limit = low_half ? kLowHalfRegisters : kVectorRegisters;
  if (index + operand.registers > limit) {
    return wrong(fmt::format("registers v{}..v{} in field '{}', the last is v{}", index,
                             index + operand.registers - 1, operand.field, limit - 1));
  }
  operand.kind = OperandKind::kVgpr;
  operand.index = static_cast<uint16_t>(index);
  return operand;
}

Result<Operand> scalar_register(Operand operand, uint32_t code) {
  const uint32_t count = operand.registers;
  const uint32_t alignment = count == 1 ? 1 : count == 2 ? 2 : 4;
  uint32_t end = kScalarRegisters;
  if (code >= kVccLow) end = kTrapTemp0;
  if (code >= kTrapTemp0) end = kNull;
  if (code >= kM0) end = kExecLow;
  if (code >= kExecLow) end = kScalarSourceEnd;
  if (code != kNull && (code % alignment != 0 || code + count > end)) {
    return wrong(fmt::format("scalar register {} in field '{}' cannot start a group of {}", code,
                             operand.field, count));
  }
  operand.kind = OperandKind::kScalar;
  operand.index = static_cast<uint16_t>(code);
  return operand;
}

Operand literal_operand(Operand operand, uint32_t literal) {
  operand.kind = OperandKind::kLiteral;
  operand.bits = operand.type == ConstantType::kF64 ? uint64_t{literal} << 32 : literal;
  return operand;
}

bool is_hardware_value(uint32_t code) {
  return (code >= 235 && code <= 238) || (code >= 251 && code <= 253);
}

Result<Operand> source(Operand operand, uint32_t code, uint32_t allowed, uint32_t literal) {
  const auto barred = [&](const char* what) {
    return wrong(fmt::format("{} in field '{}' (code {})", what, operand.field, code));
  };
  if (code >= kSourceVgpr0) {
    if ((allowed & kVector) == 0) return barred("a vector register");
    return vector_register(operand, code - kSourceVgpr0, (allowed & kLowHalf) != 0);
  }
  if (code < kScalarSourceEnd || is_hardware_value(code)) {
    if ((allowed & kScalarRegister) == 0) return barred("a scalar register");
    // A lane mask, such as a carry, cannot be EXEC.
    if (allowed == kScalarRegister && code >= kExecLow) return barred("EXEC or no register");
    if (code < kScalarSourceEnd) return scalar_register(operand, code);
    operand.kind = OperandKind::kHardware;
    operand.index = static_cast<uint16_t>(code);
    return operand;
  }
  if (code == kSourceLiteral) {
    if ((allowed & kLiteralWord) == 0) return barred("a literal");
    return literal_operand(operand, literal);
  }
  if (code >= kInlineIntFirst && code <= kInlineIntLast) {
    if ((allowed & kInline) == 0) return barred("an inline constant");
    operand.kind = OperandKind::kInlineInt;
    const int64_t value = code <= kInlineIntPositiveLast
                              ? int64_t{code} - int64_t{kInlineIntFirst}
                              : int64_t{kInlineIntPositiveLast} - int64_t{code};
    operand.bits = static_cast<uint64_t>(value);
    return operand;
  }
  if (code >= kInlineFloatFirst && code <= kInlineFloatLast) {
    if ((allowed & kInline) == 0) return barred("an inline constant");
    operand.kind = OperandKind::kInlineFloat;
    operand.index = static_cast<uint16_t>(code);
    operand.bits = inline_float_bits(code, operand.type);
    return operand;
  }
  return barred("unknown source");
}

Result<Operand> flat_address(Operand operand, uint32_t code, const OperandContext& context) {
  const bool has_saddr = (context.second >> 16 & 127) != kNull;
  if (context.encoding == Encoding::kScratch) {
    operand.registers = 1;
    if ((context.second >> 23 & 1) == 0) {
      if (code != 0) return wrong("an address register without the SVE bit");
      operand.kind = OperandKind::kOff;
      return operand;
    }
  } else if (context.encoding == Encoding::kGlobal) {
    operand.registers = has_saddr ? 1 : 2;
  } else if (context.encoding == Encoding::kFlat && has_saddr) {
    return wrong("a scalar base in a FLAT access");
  }
  return vector_register(operand, code, false);
}

Result<Operand> scalar_base(Operand operand, uint32_t code, const OperandContext& context) {
  operand.registers = context.encoding == Encoding::kScratch ? 1 : 2;
  if (code == kNull) {
    operand.kind = OperandKind::kOff;
    return operand;
  }
  return scalar_register(operand, code);
}

}  // namespace

Result<Operand> make_operand(std::string_view spec, uint32_t code, const OperandContext& context) {
  Operand operand;
  operand.field = spec[0];
  operand.registers = static_cast<uint8_t>(digit(spec[1]));
  operand.type = constant_type(spec[2]);
  const uint32_t allowed = digit(spec[3]);
  const bool memory = context.encoding == Encoding::kFlat ||
                      context.encoding == Encoding::kGlobal ||
                      context.encoding == Encoding::kScratch;
  switch (spec[0]) {
    case 'd':
    case 'G':
      operand.destination = true;
      return vector_register(operand, code, spec[2] == 'h');
    case 'D':
    case 'E':
    case 'e':
      operand.destination = true;
      if (spec[0] == 'E' && code >= kScalarSourceEnd) return wrong("no scalar destination");
      if (context.encoding == Encoding::kSmem && code >= kM0) return wrong("M0 or EXEC as sdata");
      return scalar_register(operand, code);
    case 'V':
      return scalar_register(operand, kVccLow);
    case 'v':
      return vector_register(operand, code, spec[2] == 'h');
    case 'k':
      return literal_operand(operand, context.literal);
    case 'i':
      operand.kind = OperandKind::kImmediate;
      operand.index = static_cast<uint16_t>(spec[2]);
      operand.bits = code;
      return operand;
    case 'o': {
      TRY(scalar_register(operand, code));
      operand.kind = OperandKind::kImmediate;
      operand.index = static_cast<uint16_t>(code);
      const auto offset = static_cast<int32_t>(context.second << 11) >> 11;
      operand.bits = static_cast<uint64_t>(int64_t{offset});
      return operand;
    }
    case 'x':
      if (context.encoding == Encoding::kSmem) return scalar_register(operand, code);
      return memory ? flat_address(operand, code, context) : vector_register(operand, code, false);
    case 'y':
    case 'z':
      return vector_register(operand, code, false);
    case 'w':
      return scalar_base(operand, code, context);
    case 'b':
      if (context.vector_second_source && code < kSourceVgpr0) {
        return wrong("a scalar second source with DPP");
      }
      break;
    default:
      break;
  }
  return source(operand, code, allowed, context.literal);
}

uint64_t inline_float_bits(uint32_t code, ConstantType type) {
  constexpr uint32_t kSingle[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  constexpr uint16_t kHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                0xc000, 0x4400, 0xc400, 0x3118};
  constexpr uint64_t kDouble[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                  0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                  0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
  const uint32_t i = code - kInlineFloatFirst;
  switch (type) {
    case ConstantType::kF16:
    case ConstantType::kI16:
    case ConstantType::kPackedF16:
      return kHalf[i];
    case ConstantType::kBf16:
    case ConstantType::kPackedBf16:
      return kSingle[i] >> 16;
    case ConstantType::kI64:
    case ConstantType::kF64:
      return kDouble[i];
    case ConstantType::kB32:
    case ConstantType::kNone:
      return kSingle[i];
  }
  return 0;
}

bool is_known_dpp_control(uint32_t control) {
  if (control <= 0xff) return true;            // quad_perm
  if (control >= 0x101 && control <= 0x12f) {  // row_shl, row_shr, row_ror
    return (control & 15) != 0;
  }
  if (control == 0x140 || control == 0x141) return true;  // row_mirror, row_half_mirror
  return control >= 0x150 && control <= 0x16f;            // row_share, row_xmask
}

}  // namespace moe::sim::rdna
