// A decoded gfx11 instruction: what the decoder gives, the printer writes and the executor runs.
// Plain values, no behaviour; nothing here depends on a wave's state. Threads: plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace moe::sim::rdna {

// Named exactly as in the ISA, so that a message, a table line and the manual can be compared.
enum class Operation : uint16_t {
#define MOE_OPERATION(name) name,
#include "rdna/isa/forms/operations.inc"
#undef MOE_OPERATION
};

enum class Encoding : uint8_t {
  kSop1,
  kSop2,
  kSopc,
  kSopk,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kVopd,
  kDs,
  kFlat,
  kGlobal,
  kScratch,
  kMubuf,
};
inline constexpr size_t kEncodingCount = 17;

enum class OperandKind : uint8_t {
  kNone,
  kVgpr,         // index 0..255
  kScalar,       // index 0..127: s0..s105, vcc, ttmp, null, m0, exec by their register numbers
  kHardware,     // index 235..238 (apertures) and 251..253 (vccz, execz, scc): read-only values
  kInlineInt,    // bits: -16..64, sign-extended
  kInlineFloat,  // index 240..248; bits: the pattern in the operand's type
  kLiteral,      // bits: the literal as the operand's type sees it
  kImmediate,    // bits: an immediate field (SOPP, SOPK, SMEM offset)
  kOff,          // an address part that is absent
};

// How an operand reads a constant; for registers it only says how wide one element is.
enum class ConstantType : uint8_t {
  kNone,
  kB32,
  kF16,
  kI16,
  kBf16,
  kPackedF16,
  kPackedBf16,
  kI64,
  kF64,
};

inline constexpr uint16_t kVccLow = 106;
inline constexpr uint16_t kTrapTemp0 = 108;
inline constexpr uint16_t kNull = 124;
inline constexpr uint16_t kM0 = 125;
inline constexpr uint16_t kExecLow = 126;
inline constexpr uint16_t kScalarSourceEnd = 128;

struct Operand {
  OperandKind kind = OperandKind::kNone;
  ConstantType type = ConstantType::kNone;
  char field = 0;         // letter of the encoding's field, see isa/form.hpp
  uint8_t registers = 0;  // 32-bit registers read or written
  bool destination = false;
  bool negate = false;  // applied after `absolute`
  bool absolute = false;
  uint16_t index = 0;
  uint64_t bits = 0;
};

enum class DppKind : uint8_t { kNone, kDpp16, kDpp8 };

struct Dpp {
  DppKind kind = DppKind::kNone;
  uint16_t control = 0;    // DPP16: quad_perm, row_shl ... as encoded
  uint32_t selectors = 0;  // DPP8: eight times three bits
  uint8_t row_mask = 0;
  uint8_t bank_mask = 0;
  bool bound_control = false;
  bool fetch_inactive = false;
};

struct Modifiers {
  bool clamp = false;
  uint8_t output_scale = 0;  // 0 none, 1 *2, 2 *4, 3 /2
  uint8_t op_sel = 0;        // bit per source, bit 3 the destination
  uint8_t op_sel_hi = 0;     // VOP3P only
  uint8_t neg_lo = 0;        // VOP3P only
  uint8_t neg_hi = 0;
  bool glc = false;
  bool slc = false;
  bool dlc = false;
};

struct Form;  // isa/form.hpp

inline constexpr size_t kMaxInstructionDwords = 3;
inline constexpr size_t kMaxOperands = 8;

struct Instruction {
  const Form* form = nullptr;
  const Form* second_form = nullptr;  // the Y half of a dual issue
  Encoding encoding = Encoding::kSopp;
  Operation operation{};
  Operation second_operation{};  // equals `operation` unless this is a dual issue
  uint8_t dword_count = 0;
  uint8_t operand_count = 0;
  uint8_t second_begin = 0;  // first operand of the Y half; operand_count when there is none
  bool has_literal = false;
  uint32_t literal = 0;
  uint64_t address = 0;
  std::array<uint32_t, kMaxInstructionDwords> dwords{};
  std::array<Operand, kMaxOperands> operands{};  // in the order of the text
  Modifiers modifiers;
  Dpp dpp;
  int32_t offset = 0;   // memory: byte offset; LDS with two addresses: unused
  uint8_t offset0 = 0;  // LDS with two addresses, in elements
  uint8_t offset1 = 0;

  std::span<const Operand> used_operands() const { return {operands.data(), operand_count}; }
};

}  // namespace moe::sim::rdna
