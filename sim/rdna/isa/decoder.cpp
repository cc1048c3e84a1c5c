// See decoder.hpp. One decoder object a call; the operands come from the form's specification
// (isa/form.hpp), the modifiers from the bits that belong to the encoding.
#include "rdna/isa/decoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.hpp"
#include "rdna/isa/fields.hpp"
#include "rdna/isa/form.hpp"
#include "rdna/isa/operands.hpp"

namespace moe::sim::rdna {
namespace {

constexpr uint32_t kSourceDpp8 = 233;
constexpr uint32_t kSourceDpp8FetchInactive = 234;
constexpr uint32_t kSourceDpp16 = 250;
constexpr const char* kFix =
    "compile for gfx1100 without inline assembly of this instruction, or add it to "
    "sim/rdna/isa/forms";

constexpr uint32_t bits(uint32_t word, int low, int count) {
  return (word >> low) & ((1u << count) - 1);
}

bool is_vop3(Encoding encoding) {
  return encoding == Encoding::kVop3 || encoding == Encoding::kVop3p;
}
bool is_flat(Encoding encoding) {
  return encoding == Encoding::kFlat || encoding == Encoding::kGlobal ||
         encoding == Encoding::kScratch;
}
int source_number(char field) { return field == 'v' ? 1 : field - 'a'; }

class Decoder {
 public:
  Decoder(std::span<const uint32_t> words, uint64_t address, Isa isa) : words_(words), isa_(isa) {
    ins_.address = address;
  }
  Result<Instruction> run();

 private:
  Error refuse(const std::string& what) const;
  Status take_dword();
  Status take_extra_words();
  Status read_operands(const Form& form, const Fields& fields);
  Result<Operand> read_operand(std::string_view spec, const Fields& fields);
  Status read_modifiers();
  Status read_vop3_modifiers();
  Status read_vop3p_modifiers();
  Status read_dpp();
  Status read_flat_modifiers();
  Status check_unused(const Form& form, const Fields& fields) const;
  Status check_other_words() const;
  Status check_dual() const;
  bool has_field(const Form& form, char letter) const;

  std::span<const uint32_t> words_;
  Isa isa_;
  Instruction ins_;
  Fields fields_;
};

Error Decoder::refuse(const std::string& what) const {
  const size_t shown = std::min(words_.size(), std::max<size_t>(ins_.dword_count, 2));
  std::string where = fmt::format("instruction at 0x{:x} ({:08x}", ins_.address,
                                  fmt::join(words_.first(shown), " "));
  where += ")";
  if (const auto encoding = encoding_of(words_[0])) {
    where += fmt::format(", {} opcode 0x{:x}", encoding_name(*encoding), fields_.opcode);
    if (ins_.form != nullptr) where += fmt::format(" {}", ins_.form->name);
  }
  return unsupported(fmt::format("{}: {}", where, what), kFix);
}

Status Decoder::take_dword() {
  if (ins_.dword_count >= words_.size()) {
    return corrupt(fmt::format("instruction at 0x{:x}: needs {} dwords, the code ends after {}",
                               ins_.address, ins_.dword_count + 1, words_.size()),
                   "the code object is cut off; build it again");
  }
  ins_.dwords[ins_.dword_count] = words_[ins_.dword_count];
  ++ins_.dword_count;
  return {};
}

bool Decoder::has_field(const Form& form, char letter) const {
  for (size_t i = 0; i < form.operands.size(); i += kOperandSpecSize + 1) {
    if (form.operands[i] == letter) return true;
  }
  return false;
}

// A DPP word or a literal follows the base dwords; both at once do not exist.
Status Decoder::take_extra_words() {
  const auto source_is = [&](uint32_t code) {
    for (char letter : std::string_view("abcst")) {
      const bool used = has_field(*ins_.form, letter);
      if (used && fields_.of(letter) == code) return true;
    }
    return false;
  };
  const uint32_t first = fields_.of('a');
  const bool dpp =
      has_field(*ins_.form, 'a') && ins_.encoding != Encoding::kVopd &&
      (first == kSourceDpp16 || first == kSourceDpp8 || first == kSourceDpp8FetchInactive);
  bool literal = source_is(kSourceLiteral) || has_field(*ins_.form, 'k');
  if (ins_.second_form != nullptr) {
    const Fields second = vopd_second_fields(ins_.dwords[0], ins_.dwords[1]);
    literal = literal || second.of('a') == kSourceLiteral || has_field(*ins_.second_form, 'k');
  }
  if (dpp && literal) return refuse("a literal together with DPP");
  if (dpp) {
    if ((ins_.form->modifiers & kFormDpp) == 0) return refuse("this operation takes no DPP");
    ins_.dpp.kind = first == kSourceDpp16 ? DppKind::kDpp16 : DppKind::kDpp8;
    ins_.dpp.fetch_inactive = first == kSourceDpp8FetchInactive;
  }
  if (dpp || literal) TRY(take_dword());
  if (literal) {
    ins_.has_literal = true;
    ins_.literal = ins_.dwords[ins_.dword_count - 1u];
  }
  return {};
}

Result<Operand> Decoder::read_operand(std::string_view spec, const Fields& fields) {
  const bool dpp = ins_.dpp.kind != DppKind::kNone;
  // The second source of a DPP form of VOP3 may be scalar from gfx11.5 on.
  const bool vector_second = dpp && (isa_ == Isa::kGfx11 || ins_.encoding == Encoding::kVop3p);
  const OperandContext context{.encoding = ins_.encoding,
                               .literal = ins_.literal,
                               .first = ins_.dwords[0],
                               .second = ins_.dwords[1],
                               .vector_second_source = vector_second};
  uint32_t code = fields.of(spec[0]);
  if (dpp && spec[0] == 'a') code = kSourceVgpr0 + bits(ins_.dwords[ins_.dword_count - 1u], 0, 8);
  auto operand = make_operand(spec, code, context);
  if (!operand.ok()) return refuse(operand.error().message);
  return operand;
}

Status Decoder::read_operands(const Form& form, const Fields& fields) {
  for (size_t i = 0; i < form.operands.size(); i += kOperandSpecSize + 1) {
    const std::string_view spec = form.operands.substr(i, kOperandSpecSize);
    if (spec[0] == 'G' && bits(ins_.dwords[0], 14, 1) == 0) {
      if (fields.of('G') != 0) return refuse("vdst is set without glc");
      continue;
    }
    ins_.operands[ins_.operand_count++] = TRY(read_operand(spec, fields));
  }
  return check_unused(form, fields);
}

// A set bit in a field that the operation does not use is not understood, so it is not ignored.
Status Decoder::check_unused(const Form& form, const Fields& fields) const {
  for (char letter : fields.present) {
    bool used = has_field(form, letter);
    if (letter == 'd') used = used || has_field(form, 'E') || has_field(form, 'G');
    const uint32_t value = fields.of(letter);
    if (used || value == 0) continue;
    // v_cmpx names EXEC as its destination although it can have no other.
    if (ins_.encoding == Encoding::kVop3 && letter == 'd' && value == kExecLow) continue;
    if (letter == 'w' && value == kNull) continue;
    return refuse(fmt::format("unused field '{}' holds 0x{:x}, wanted 0", letter, value));
  }
  return {};
}

Status Decoder::read_vop3_modifiers() {
  const uint32_t allowed = ins_.form->modifiers;
  const uint32_t first = ins_.dwords[0];
  const uint32_t second = ins_.dwords[1];
  const bool scalar_destination = has_field(*ins_.form, 'e');
  const uint32_t negate = bits(second, 29, 3);
  const uint32_t absolute = scalar_destination ? 0 : bits(first, 8, 3);
  if ((negate & ~allowed & kFormNegate) != 0) return refuse("unknown modifier neg");
  if ((absolute << kFormAbsoluteShift & ~allowed & kFormAbsolute) != 0) {
    return refuse("unknown modifier abs");
  }
  for (Operand& operand : ins_.operands) {
    if (operand.kind == OperandKind::kNone || operand.field < 'a' || operand.field > 'c') continue;
    operand.negate = (negate >> source_number(operand.field) & 1) != 0;
    operand.absolute = (absolute >> source_number(operand.field) & 1) != 0;
  }
  ins_.modifiers.clamp = bits(first, 15, 1) != 0;
  if (ins_.modifiers.clamp && (allowed & kFormClamp) == 0) return refuse("unknown modifier clamp");
  ins_.modifiers.output_scale = static_cast<uint8_t>(bits(second, 27, 2));
  if (ins_.modifiers.output_scale != 0 && (allowed & kFormOutputScale) == 0) {
    return refuse("unknown modifier omod");
  }
  if (scalar_destination) return {};
  const uint32_t allowed_op_sel = (allowed & kFormOpSelMask) >> kFormOpSelMaskShift;
  ins_.modifiers.op_sel = static_cast<uint8_t>(bits(first, 11, 4));
  if ((ins_.modifiers.op_sel & ~allowed_op_sel) != 0) return refuse("unknown modifier op_sel");
  return {};
}

Status Decoder::read_vop3p_modifiers() {
  const uint32_t allowed = ins_.form->modifiers;
  const uint32_t first = ins_.dwords[0];
  const uint32_t second = ins_.dwords[1];
  Modifiers& m = ins_.modifiers;
  m.clamp = bits(first, 15, 1) != 0;
  if (m.clamp && (allowed & kFormClamp) == 0) return refuse("unknown modifier clamp");
  m.op_sel = static_cast<uint8_t>(bits(first, 11, 3));
  m.op_sel_hi = static_cast<uint8_t>(bits(second, 27, 2) | bits(first, 14, 1) << 2);
  m.neg_lo = static_cast<uint8_t>(bits(second, 29, 3));
  m.neg_hi = static_cast<uint8_t>(bits(first, 8, 3));
  if ((allowed & kFormPackedOpSel) == 0 && (m.op_sel != 0 || m.op_sel_hi != 7)) {
    return refuse("unknown modifier op_sel on a matrix operation");
  }
  const uint32_t sources = has_field(*ins_.form, 'c') ? 7 : 3;
  if ((m.op_sel & ~sources) != 0) return refuse("unknown modifier op_sel of a third source");
  if ((m.neg_lo & ~allowed & kFormNegate) != 0 ||
      (uint32_t{m.neg_hi} << kFormAbsoluteShift & ~allowed & kFormAbsolute) != 0) {
    return refuse("unknown modifier neg_lo or neg_hi");
  }
  const bool mixed = (allowed & kFormPackedOpSel) != 0 && (allowed & kFormPackedHigh) == 0;
  for (Operand& operand : ins_.operands) {
    if (!mixed || operand.kind == OperandKind::kNone || operand.destination) continue;
    operand.negate = (m.neg_lo >> source_number(operand.field) & 1) != 0;
    operand.absolute = (m.neg_hi >> source_number(operand.field) & 1) != 0;
  }
  return {};
}

Status Decoder::read_dpp() {
  const uint32_t word = ins_.dwords[ins_.dword_count - 1u];
  if (ins_.dpp.kind == DppKind::kDpp8) {
    ins_.dpp.selectors = word >> 8;
    return {};
  }
  ins_.dpp.control = static_cast<uint16_t>(bits(word, 8, 9));
  ins_.dpp.fetch_inactive = bits(word, 18, 1) != 0;
  ins_.dpp.bound_control = bits(word, 19, 1) != 0;
  ins_.dpp.bank_mask = static_cast<uint8_t>(bits(word, 24, 4));
  ins_.dpp.row_mask = static_cast<uint8_t>(bits(word, 28, 4));
  if (!is_known_dpp_control(ins_.dpp.control)) {
    return refuse(fmt::format("unknown dpp_ctrl 0x{:x}", ins_.dpp.control));
  }
  if (bits(word, 17, 1) != 0) return refuse("a reserved bit of the DPP word is set");
  const uint32_t source_bits = bits(word, 20, 4);
  if (is_vop3(ins_.encoding)) {
    return source_bits == 0 ? Status{} : refuse("source modifiers in the DPP word of VOP3");
  }
  const uint32_t negate = (source_bits & 1) | (source_bits >> 1 & 2);
  const uint32_t absolute = (source_bits >> 1 & 1) | (source_bits >> 2 & 2);
  if (((negate | absolute << kFormAbsoluteShift) & ~ins_.form->modifiers) != 0) {
    return refuse("unknown modifier neg or abs in the DPP word");
  }
  for (Operand& operand : ins_.operands) {
    if (operand.field != 'a' && operand.field != 'v') continue;
    operand.negate = (negate >> source_number(operand.field) & 1) != 0;
    operand.absolute = (absolute >> source_number(operand.field) & 1) != 0;
  }
  return {};
}

Status Decoder::read_flat_modifiers() {
  const uint32_t first = ins_.dwords[0];
  ins_.modifiers.glc = bits(first, 14, 1) != 0;
  ins_.modifiers.slc = bits(first, 15, 1) != 0;
  ins_.modifiers.dlc = bits(first, 13, 1) != 0;
  const int32_t offset = static_cast<int32_t>(bits(first, 0, 13) << 19) >> 19;
  if (ins_.encoding == Encoding::kFlat && offset < 0) return refuse("a negative FLAT offset");
  ins_.offset = offset;
  const bool sve = bits(ins_.dwords[1], 23, 1) != 0;
  if (sve && ins_.encoding != Encoding::kScratch) return refuse("the SVE bit outside SCRATCH");
  return {};
}

// Bits that no operand and no modifier of the encoding covers.
Status Decoder::check_other_words() const {
  const uint32_t first = ins_.dwords[0];
  const uint32_t second = ins_.dwords[1];
  switch (ins_.encoding) {
    case Encoding::kSmem: {
      const bool bare = ins_.operand_count == 0;
      const bool soffset_null = second == 0 || second == uint32_t{kNull} << 25;
      if (bits(first, 15, 3) != 0) return refuse("a reserved bit is set");
      if (bare ? !soffset_null : bits(second, 21, 4) != 0) return refuse("unused bits are set");
      return {};
    }
    case Encoding::kMubuf:
      if ((first & 0x3ffff) != 0 || (second != 0 && second != uint32_t{kNull} << 24)) {
        return refuse("unused bits are set");
      }
      return {};
    case Encoding::kDs:
      if (bits(first, 17, 1) != 0 || bits(first, 16, 1) != 0) return refuse("unknown modifier gds");
      return {};
    case Encoding::kSopp:
      if (ins_.operand_count == 0 && bits(first, 0, 16) != 0) {
        return refuse("an immediate where none belongs");
      }
      return {};
    default:
      return {};
  }
}

// The one literal of a dual issue would be a single for one half and two halves for the other.
Status Decoder::check_dual() const {
  bool single = false;
  bool packed = false;
  for (const Operand& operand : ins_.used_operands()) {
    if (operand.kind != OperandKind::kLiteral) continue;
    single = single || operand.field == 'k';
    packed = packed || operand.type == ConstantType::kPackedF16;
  }
  return single && packed ? refuse("one literal of two types") : Status{};
}

Status Decoder::read_modifiers() {
  const uint32_t first = ins_.dwords[0];
  if (ins_.dpp.kind != DppKind::kNone) TRY(read_dpp());
  if (ins_.encoding == Encoding::kVop3) return read_vop3_modifiers();
  if (ins_.encoding == Encoding::kVop3p) return read_vop3p_modifiers();
  if (is_flat(ins_.encoding)) return read_flat_modifiers();
  if (ins_.encoding == Encoding::kSmem) {
    ins_.modifiers.glc = bits(first, 14, 1) != 0;
    ins_.modifiers.dlc = bits(first, 13, 1) != 0;
    if (ins_.operand_count == 0 && (ins_.modifiers.glc || ins_.modifiers.dlc)) {
      return refuse("unknown modifier glc or dlc");
    }
  }
  if (ins_.encoding == Encoding::kDs) {
    const bool two = ins_.form->name.find("_2addr") != std::string_view::npos;
    ins_.offset0 = two ? static_cast<uint8_t>(bits(first, 0, 8)) : uint8_t{0};
    ins_.offset1 = two ? static_cast<uint8_t>(bits(first, 8, 8)) : uint8_t{0};
    ins_.offset = two ? 0 : static_cast<int32_t>(bits(first, 0, 16));
    if (ins_.operand_count == 0 && ins_.offset != 0) return refuse("an offset without an address");
  }
  return {};
}

Result<Instruction> Decoder::run() {
  TRY(take_dword());
  const auto encoding = encoding_of(words_[0]);
  if (!encoding) return refuse("unknown encoding");
  ins_.encoding = *encoding;
  fields_ = fields_of(*encoding, words_[0], words_.size() > 1 ? words_[1] : 0);
  if (fields_.base_dwords == 2) TRY(take_dword());
  ins_.form = find_form(*encoding, fields_.opcode);
  if (ins_.form == nullptr) return refuse("unknown opcode");
  if ((ins_.form->modifiers & kFormGfx115) != 0 && isa_ != Isa::kGfx115) {
    return refuse("unknown opcode before gfx11.5");
  }
  ins_.operation = ins_.second_operation = ins_.form->operation;
  Fields second;
  if (*encoding == Encoding::kVopd) {
    second = vopd_second_fields(words_[0], words_[1]);
    ins_.second_form = find_form(*encoding, second.opcode);
    if (ins_.second_form == nullptr) {
      return refuse(fmt::format("unknown opcode 0x{:x} of the Y half", second.opcode));
    }
    ins_.second_operation = ins_.second_form->operation;
  }
  TRY(take_extra_words());
  TRY(read_operands(*ins_.form, fields_));
  ins_.second_begin = ins_.operand_count;
  if (ins_.second_form != nullptr) {
    TRY(read_operands(*ins_.second_form, second));
    TRY(check_dual());
  }
  TRY(read_modifiers());
  TRY(check_other_words());
  return ins_;
}

}  // namespace

std::optional<Isa> isa_of(std::string_view target) {
  for (const char* name : {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic"}) {
    if (target == name) return Isa::kGfx11;
  }
  for (const char* name : {"gfx1150", "gfx1151", "gfx1152"}) {
    if (target == name) return Isa::kGfx115;
  }
  return std::nullopt;
}

Result<Instruction> decode(std::span<const uint32_t> words, uint64_t address, Isa isa) {
  if (words.empty()) {
    return corrupt(fmt::format("no code at 0x{:x}", address), "the code object is cut off");
  }
  return Decoder(words, address, isa).run();
}

Result<std::vector<Instruction>> decode_all(std::span<const uint32_t> words, uint64_t address,
                                            Isa isa) {
  std::vector<Instruction> instructions;
  while (!words.empty()) {
    instructions.push_back(TRY(decode(words, address, isa)));
    const size_t used = instructions.back().dword_count;
    words = words.subspan(used);
    address += used * sizeof(uint32_t);
  }
  return instructions;
}

uint64_t branch_target(const Instruction& instruction) {
  const auto words = static_cast<int16_t>(instruction.dwords[0] & 0xffff);
  return instruction.address + 4 + static_cast<uint64_t>(int64_t{words} * 4);
}

}  // namespace moe::sim::rdna
