// See printer.hpp. Immediates of SOPP and SOPK are spelled in isa/immediates.cpp.
#include "rdna/isa/printer.hpp"

#include <fmt/format.h>

#include <iterator>

#include "rdna/isa/form.hpp"
#include "rdna/isa/immediates.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kInlineFloatNames[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                             "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr uint32_t kInlineFloatFirst = 240;
constexpr uint32_t kInverseTwoPi = 248;

std::string register_group(const char* prefix, uint32_t index, uint32_t count) {
  if (count == 1) return fmt::format("{}{}", prefix, index);
  return fmt::format("{}[{}:{}]", prefix, index, index + count - 1);
}

std::string scalar_name(uint32_t index, uint32_t count) {
  if (index < kVccLow) return register_group("s", index, count);
  if (index == kNull) return "null";
  if (index == kM0) return "m0";
  if (index >= kExecLow) {
    if (count == 2) return "exec";
    return index == kExecLow ? "exec_lo" : "exec_hi";
  }
  if (index >= kTrapTemp0) return register_group("ttmp", index - kTrapTemp0, count);
  if (count == 2) return "vcc";
  return index == kVccLow ? "vcc_lo" : "vcc_hi";
}

const char* hardware_name(uint32_t index) {
  switch (index) {
    case 235:
      return "src_shared_base";
    case 236:
      return "src_shared_limit";
    case 237:
      return "src_private_base";
    case 238:
      return "src_private_limit";
    case 251:
      return "src_vccz";
    case 252:
      return "src_execz";
    default:
      return "src_scc";
  }
}

// A literal whose pattern is that of an inline constant is printed as that constant.
const char* float_name(uint32_t pattern, ConstantType type) {
  constexpr uint32_t kSingle[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  constexpr uint32_t kHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                0xc000, 0x4400, 0xc400, 0x3118};
  for (size_t i = 0; i < std::size(kSingle); ++i) {
    uint32_t wanted = kSingle[i];
    if (type == ConstantType::kF16 || type == ConstantType::kPackedF16) wanted = kHalf[i];
    if (type == ConstantType::kBf16 || type == ConstantType::kPackedBf16) wanted = kSingle[i] >> 16;
    if (pattern == wanted) return kInlineFloatNames[i];
  }
  return nullptr;
}

bool is_inline_int(int64_t value) { return value >= -16 && value <= 64; }

std::string literal_text(const Operand& operand) {
  const auto word =
      static_cast<uint32_t>(operand.type == ConstantType::kF64 ? operand.bits >> 32 : operand.bits);
  uint32_t shown = word;
  uint32_t pattern = word;
  int64_t integer = static_cast<int32_t>(word);
  switch (operand.type) {
    case ConstantType::kNone:
    case ConstantType::kF64:
      return fmt::format("0x{:x}", word);
    case ConstantType::kI64:
      return word <= 64 ? fmt::format("{}", word) : fmt::format("0x{:x}", word);
    case ConstantType::kF16:
      pattern = shown = word & 0xffff;
      integer = static_cast<int16_t>(word & 0xffff);
      break;
    case ConstantType::kBf16:
      pattern = word & 0xffff;
      integer = static_cast<int16_t>(word & 0xffff);
      break;
    case ConstantType::kI16:
      shown = word & 0xffff;
      break;
    case ConstantType::kB32:
    case ConstantType::kPackedF16:
    case ConstantType::kPackedBf16:
      break;
  }
  if (is_inline_int(integer)) return fmt::format("{}", integer);
  if (const char* name = float_name(pattern, operand.type)) return name;
  return fmt::format("0x{:x}", shown);
}

std::string inline_float_text(const Operand& operand) {
  if (operand.type == ConstantType::kI16) return fmt::format("0x{:x}", operand.bits);
  const bool wide = operand.type == ConstantType::kI64 || operand.type == ConstantType::kF64;
  if (operand.index == kInverseTwoPi && wide) return "0.15915494309189532";
  return kInlineFloatNames[operand.index - kInlineFloatFirst];
}

std::string signed_hex(int64_t value) {
  return value < 0 ? fmt::format("-0x{:x}", -value) : fmt::format("0x{:x}", value);
}

std::string scalar_offset_text(const Operand& operand) {
  const auto offset = static_cast<int64_t>(operand.bits);
  const std::string base = scalar_name(operand.index, 1);
  if (offset == 0) return base;
  if (operand.index == kNull) return signed_hex(offset);
  return fmt::format("{} offset:{}", base, signed_hex(offset));
}

std::string with_modifiers(const Operand& operand) {
  std::string text = to_text(operand);
  if (operand.absolute) text = "|" + text + "|";
  if (!operand.negate) return text;
  // "-4" would be the constant minus four.
  const bool constant = operand.kind == OperandKind::kInlineInt ||
                        operand.kind == OperandKind::kInlineFloat ||
                        operand.kind == OperandKind::kLiteral;
  return constant && !operand.absolute ? "neg(" + text + ")" : "-" + text;
}

void append_operands(std::string& text, std::span<const Operand> operands) {
  const char* separator = " ";
  for (const Operand& operand : operands) {
    const std::string shown = with_modifiers(operand);
    if (shown.empty()) continue;
    text += separator;
    text += shown;
    separator = ", ";
  }
}

std::string bit_list(const char* name, uint32_t bits, uint32_t count) {
  std::string text = fmt::format(" {}:[", name);
  for (uint32_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", bits >> i & 1);
  }
  return text + "]";
}

void append_op_sel(std::string& text, const Instruction& ins) {
  const uint32_t entries = (ins.form->modifiers & kFormOpSelCount) >> kFormOpSelShift;
  const uint32_t op_sel = ins.modifiers.op_sel;
  if (entries == 0 || op_sel == 0) return;
  // The destination is bit 3 in the encoding and the last entry of the text.
  const uint32_t sources = entries == 2 ? 2 : entries - 1;
  uint32_t shown = op_sel & ((1u << sources) - 1);
  if (entries != 2) shown |= (op_sel >> 3 & 1) << sources;
  text += bit_list("op_sel", shown, entries);
}

void append_packed(std::string& text, const Instruction& ins) {
  const Modifiers& m = ins.modifiers;
  const uint32_t allowed = ins.form->modifiers;
  const bool selects = (allowed & kFormPackedOpSel) != 0;
  const bool mixed = selects && (allowed & kFormPackedHigh) == 0;
  const uint32_t count = ins.operand_count - 1u;
  const uint32_t all = (1u << count) - 1;
  const uint32_t high = m.op_sel_hi & all;
  if (selects && m.op_sel != 0) text += bit_list("op_sel", m.op_sel, count);
  if (selects && high != (mixed ? 0 : all)) text += bit_list("op_sel_hi", high, count);
  if (!mixed && m.neg_lo != 0) text += bit_list("neg_lo", m.neg_lo, count);
  if (!mixed && m.neg_hi != 0) text += bit_list("neg_hi", m.neg_hi, count);
}

std::string dpp_control_text(uint32_t control) {
  if (control <= 0xff) {
    return fmt::format("quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                       control >> 6 & 3);
  }
  if (control == 0x140) return "row_mirror";
  if (control == 0x141) return "row_half_mirror";
  const char* name = "row_xmask";
  if (control < 0x110) {
    name = "row_shl";
  } else if (control < 0x120) {
    name = "row_shr";
  } else if (control < 0x130) {
    name = "row_ror";
  } else if (control < 0x160) {
    name = "row_share";
  }
  return fmt::format("{}:{}", name, control & 15);
}

void append_dpp(std::string& text, const Dpp& dpp) {
  if (dpp.kind == DppKind::kNone) return;
  if (dpp.kind == DppKind::kDpp8) {
    text += " dpp8:[";
    for (uint32_t i = 0; i < 8; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ",", dpp.selectors >> (3 * i) & 7);
    }
    text += "]";
  } else {
    text += fmt::format(" {} row_mask:0x{:x} bank_mask:0x{:x}", dpp_control_text(dpp.control),
                        dpp.row_mask, dpp.bank_mask);
    if (dpp.bound_control) text += " bound_ctrl:1";
  }
  if (dpp.fetch_inactive) text += " fi:1";
}

void append_memory(std::string& text, const Instruction& ins) {
  if (ins.operation == Operation::ds_swizzle_b32) {
    if (ins.offset != 0) text += " offset:" + swizzle_text(static_cast<uint32_t>(ins.offset));
  } else if (ins.offset != 0) {
    text += fmt::format(" offset:{}", ins.offset);
  }
  if (ins.offset0 != 0) text += fmt::format(" offset0:{}", ins.offset0);
  if (ins.offset1 != 0) text += fmt::format(" offset1:{}", ins.offset1);
  if (ins.modifiers.glc) text += " glc";
  if (ins.modifiers.slc) text += " slc";
  if (ins.modifiers.dlc) text += " dlc";
}

std::string mnemonic(const Instruction& ins) {
  std::string name(ins.form->name);
  if (ins.dpp.kind == DppKind::kNone) return name.append(ins.form->suffix);
  if (ins.encoding == Encoding::kVop3 || ins.encoding == Encoding::kVop3p) {
    return name + "_e64_dpp";
  }
  return ins.encoding == Encoding::kVopc ? name : name + "_dpp";
}

std::string dual_text(const Instruction& ins) {
  const auto half = [&](const Form& form, std::span<const Operand> operands) {
    std::string text = fmt::format("v_dual_{}", form.name.substr(2));
    append_operands(text, operands);
    return text;
  };
  const auto all = ins.used_operands();
  return half(*ins.form, all.first(ins.second_begin)) +
         " :: " + half(*ins.second_form, all.subspan(ins.second_begin));
}

}  // namespace

std::string to_text(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::kNone:
      return {};
    case OperandKind::kVgpr:
      return register_group("v", operand.index, operand.registers);
    case OperandKind::kScalar:
      return scalar_name(operand.index, operand.registers);
    case OperandKind::kHardware:
      return hardware_name(operand.index);
    case OperandKind::kInlineInt:
      return fmt::format("{}", static_cast<int64_t>(operand.bits));
    case OperandKind::kInlineFloat:
      return inline_float_text(operand);
    case OperandKind::kLiteral:
      return literal_text(operand);
    case OperandKind::kOff:
      return "off";
    case OperandKind::kImmediate:
      if (operand.field == 'o') return scalar_offset_text(operand);
      return immediate_text(static_cast<char>(operand.index), static_cast<uint32_t>(operand.bits));
  }
  return {};
}

std::string to_text(const Instruction& instruction) {
  if (instruction.encoding == Encoding::kVopd) return dual_text(instruction);
  std::string text = mnemonic(instruction);
  append_operands(text, instruction.used_operands());
  if (instruction.encoding == Encoding::kVop3) append_op_sel(text, instruction);
  if (instruction.encoding == Encoding::kVop3p) append_packed(text, instruction);
  constexpr const char* kScales[] = {"", " mul:2", " mul:4", " div:2"};
  if (instruction.modifiers.clamp) text += " clamp";
  text += kScales[instruction.modifiers.output_scale & 3];
  append_dpp(text, instruction.dpp);
  append_memory(text, instruction);
  return text;
}

}  // namespace moe::sim::rdna
