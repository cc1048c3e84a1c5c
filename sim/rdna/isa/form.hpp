// The tables of instruction forms: which opcode number means which operation with which operands.
// Only data and look-up; decoding is in isa/decoder.cpp, text in isa/printer.cpp. Threads:
// immutable.
//
// Operands are written as a string, four characters each, in the order of the assembly text:
//   field   d vdst, G vdst when glc is set, E vdst as scalar register, D sdst/sdata, e second sdst,
//           a b c 9-bit sources, v vsrc1, s t 8-bit scalar sources, V vcc, k literal, i simm16,
//           x address or base, y z data, w saddr, o scalar memory offset
//   count   32-bit registers, one hexadecimal digit, g for 16
//   type    of constants: w 32-bit, h f16, s i16, b bf16, p packed f16, q packed bf16, l i64, d
//   f64;
//           of simm16: h hex, m mixed, b branch, e end, w waitcnt, p depctr, y delay, g message, r
//           hwreg
//   allowed base 32: 1 VGPR, 2 scalar register, 4 inline constant, 8 literal, 16 only v0..v127
#pragma once

#include <cstdint>
#include <string_view>

#include "rdna/isa/instruction.hpp"

namespace moe::sim::rdna {

inline constexpr uint32_t kFormNegate = 0x7;     // bit per source
inline constexpr uint32_t kFormAbsolute = 0x38;  // bit per source
inline constexpr uint32_t kFormAbsoluteShift = 3;
inline constexpr uint32_t kFormClamp = 0x40;
inline constexpr uint32_t kFormOutputScale = 0x80;
inline constexpr uint32_t kFormOpSelCount = 0xf00;  // VOP3: entries of op_sel in the text
inline constexpr uint32_t kFormOpSelShift = 8;
inline constexpr uint32_t kFormPackedOpSel = 0x100;  // VOP3P: op_sel allowed
inline constexpr uint32_t kFormPackedHigh = 0x200;   // VOP3P: op_sel_hi defaults to ones
inline constexpr uint32_t kFormDpp = 0x1000;
inline constexpr uint32_t kFormGfx115 = 0x20000;     // not before gfx11.5
inline constexpr uint32_t kFormOpSelMask = 0x1e000;  // VOP3: bits of op_sel that may be set
inline constexpr uint32_t kFormOpSelMaskShift = 13;

struct Form {
  uint16_t number = 0;
  Operation operation{};
  std::string_view name;    // without suffix
  std::string_view suffix;  // "_e32", "_e64" or none
  std::string_view operands;
  uint32_t modifiers = 0;
};

inline constexpr size_t kOperandSpecSize = 4;

// The form of an opcode number, or nullptr.
const Form* find_form(Encoding encoding, uint32_t number);

// All forms of one encoding, ascending by number.
std::span<const Form> forms_of(Encoding encoding);

std::string_view encoding_name(Encoding encoding);
std::string_view operation_name(Operation operation);

}  // namespace moe::sim::rdna
