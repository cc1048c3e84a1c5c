// See random_encoding.hpp.
#include "rdna/testing/random_encoding.hpp"

namespace moe::sim::rdna::testing {
namespace {

constexpr uint32_t kNopWord = 0xbf800000;

class Generator {
 public:
  Generator(Encoding encoding, const Form& form, std::mt19937& random, bool plain)
      : encoding_(encoding), form_(form), random_(random), plain_(plain) {}
  Slot run();

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t one_in) { return !plain_ && below(one_in) == 0; }
  uint32_t source(uint32_t count, uint32_t allowed);
  uint32_t scalar(uint32_t count);
  uint32_t literal();
  void fill_fields();
  void place(char field, uint32_t value);
  void add_modifiers();
  void add_second_half();
  void add_dpp();

  Encoding encoding_;
  const Form& form_;
  std::mt19937& random_;
  bool plain_;
  Slot words_{kNopWord, kNopWord, kNopWord, kNopWord};
  uint32_t base_dwords_ = 1;
  bool needs_literal_ = false;
};

uint32_t digit(char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

uint32_t Generator::scalar(uint32_t count) {
  if (count <= 2 && chance(4)) {
    const uint32_t special[] = {106, 108, 124, 126};
    return special[below(4)];
  }
  const uint32_t step = count == 1 ? 1 : count == 2 ? 2 : 4;
  return below((104 - count) / step) * step;
}

uint32_t Generator::source(uint32_t count, uint32_t allowed) {
  for (;;) {
    switch (below(plain_ ? 2 : 6)) {
      case 0:
        if ((allowed & 1) != 0) return 256 + below((allowed & 16) != 0 ? 120 : 257 - count);
        break;
      case 1:
        if ((allowed & 2) != 0) return scalar(count);
        break;
      case 2:
        if ((allowed & 4) != 0) return 128 + below(81);
        break;
      case 3:
        if ((allowed & 4) != 0) return 240 + below(9);
        break;
      case 4:
        if ((allowed & 8) != 0) {
          needs_literal_ = true;
          return 255;
        }
        break;
      default:
        if ((allowed & 2) != 0) return below(2) == 0 ? 235 + below(4) : 251 + below(3);
        break;
    }
  }
}

uint32_t Generator::literal() {
  constexpr uint32_t kKnown[] = {0x3f000000, 0x3800, 0x40,   0xffffffff, 0xfffffff0, 0x3e22f983,
                                 0x3118,     0x3f80, 0xc400, 0x41,       0xbf80};
  if (below(2) == 0) return kKnown[below(std::size(kKnown))];
  return static_cast<uint32_t>(random_());
}

void Generator::place(char field, uint32_t value) {
  const bool vop3 = encoding_ == Encoding::kVop3 || encoding_ == Encoding::kVop3p;
  uint32_t& first = words_[0];
  uint32_t& second = words_[1];
  switch (field) {
    case 'd':
    case 'G':
    case 'E':
      if (vop3) {
        first |= value;
      } else if (base_dwords_ == 2) {
        second |= value << 24;
      } else {
        first |= value << 17;
      }
      break;
    case 'D':
      first |= value << (encoding_ == Encoding::kSmem ? 6 : 16);
      break;
    case 'e':
      first |= value << 8;
      break;
    case 'a':
      (vop3 ? second : first) |= value;
      break;
    case 'b':
      second |= value << 9;
      break;
    case 'c':
      second |= value << 18;
      break;
    case 'v':
      first |= value << 9;
      break;
    case 's':
      first |= value;
      break;
    case 't':
      first |= value << 8;
      break;
    case 'i':
      first |= value;
      break;
    case 'x':
      (encoding_ == Encoding::kSmem ? first : second) |=
          encoding_ == Encoding::kSmem ? value / 2 : value;
      break;
    case 'y':
      second |= value << 8;
      break;
    case 'z':
    case 'w':
      second |= value << 16;
      break;
    case 'o':
      second |= value;
      break;
    default:
      break;
  }
}

void Generator::fill_fields() {
  const bool flat = encoding_ == Encoding::kFlat;
  const bool scratch = encoding_ == Encoding::kScratch;
  const bool no_saddr = flat || below(2) == 0;
  bool sve = false;
  for (size_t i = 0; i < form_.operands.size(); i += kOperandSpecSize + 1) {
    const char field = form_.operands[i];
    uint32_t count = digit(form_.operands[i + 1]);
    const uint32_t allowed = digit(form_.operands[i + 3]);
    switch (field) {
      case 'a':
      case 'b':
      case 'c':
      case 's':
      case 't':
        place(field, source(count, allowed & (field >= 's' ? 14u : 31u)));
        break;
      case 'D':
      case 'E':
      case 'e':
        place(field, scalar(count));
        break;
      case 'G':
        if (chance(2)) {
          words_[0] |= 1u << 14;
          place(field, below(257 - count));
        }
        break;
      case 'i':
        place(field, below(2) == 0 ? below(80) : below(65536));
        break;
      case 'k':
        needs_literal_ = true;
        break;
      case 'w':
        if (flat || no_saddr) {
          place(field, 124);
        } else {
          place(field, scratch ? scalar(1) : 2 * below(50));
        }
        break;
      case 'o':
        place(field, chance(2) ? below(1u << 21) : below(4096));
        words_[1] |= (chance(3) ? scalar(1) : 124u) << 25;
        break;
      case 'x':
        if (encoding_ == Encoding::kSmem) {
          place(field, scalar(count));
          break;
        }
        if (scratch) {
          sve = below(2) == 0;
          if (sve) words_[1] |= 1u << 23;
          place(field, sve ? below(256) : 0);
          break;
        }
        place(field, below(255));
        break;
      case 'V':
        break;
      default:
        place(field, below(form_.operands[i + 2] == 'h' ? 120 : 257 - count));
        break;
    }
  }
  if (flat) words_[1] |= 124u << 16;
}

void Generator::add_second_half() {
  const auto forms = forms_of(Encoding::kVopd);
  const Form& second = forms[below(static_cast<uint32_t>(forms.size()))];
  words_[0] |= uint32_t{second.number} << 17;
  words_[1] |= below(128) << 17;
  const bool literal = below(6) == 0;
  needs_literal_ = needs_literal_ || literal || second.operands.find('k') != std::string_view::npos;
  words_[1] |= literal ? 255 : below(2) == 0 ? 256 + below(256) : below(104);
  if (second.operands.find('v') != std::string_view::npos) words_[1] |= below(256) << 9;
}

void Generator::add_modifiers() {
  const uint32_t allowed = form_.modifiers;
  const bool scalar_destination = form_.operands.find("e1") != std::string_view::npos;
  const bool vop3p = encoding_ == Encoding::kVop3p;
  if (encoding_ == Encoding::kVop3 || vop3p) {
    if (vop3p) {
      const bool selects = (allowed & kFormPackedOpSel) != 0;
      const bool all = !selects || ((allowed & kFormPackedHigh) != 0 && !chance(2));
      words_[0] |= (all ? 1u : selects ? below(2) : 0) << 14;
      words_[1] |= (all ? 3u : selects ? below(4) : 0) << 27;
      if (selects && chance(2)) words_[0] |= below(8) << 11;
    }
    if (chance(2)) words_[1] |= (below(8) & allowed & kFormNegate) << 29;
    if (chance(2) && !scalar_destination) {
      words_[0] |= (below(8) & (allowed & kFormAbsolute) >> kFormAbsoluteShift) << 8;
    }
    if (chance(3) && (allowed & kFormClamp) != 0) words_[0] |= 1u << 15;
    if (chance(3) && !vop3p && (allowed & kFormOutputScale) != 0) words_[1] |= below(4) << 27;
    if (chance(2) && !vop3p && !scalar_destination) {
      words_[0] |= (below(16) & (allowed & kFormOpSelMask) >> kFormOpSelMaskShift) << 11;
    }
  }
  const bool flat = encoding_ == Encoding::kFlat || encoding_ == Encoding::kGlobal ||
                    encoding_ == Encoding::kScratch;
  if (flat && chance(2))
    words_[0] |= flat && encoding_ == Encoding::kFlat ? below(4096) : below(8192);
  const bool atomic = form_.operands.find('G') != std::string_view::npos;
  if (flat && chance(3)) words_[0] |= (below(2) << 15 | below(2) << 13);
  if (flat && !atomic && chance(3)) words_[0] |= 1u << 14;
  if (encoding_ == Encoding::kSmem && !form_.operands.empty() && chance(3)) {
    words_[0] |= below(4) << 13;
  }
  if (encoding_ == Encoding::kDs && chance(2)) words_[0] |= below(65536);
}

uint32_t first_word(Encoding encoding, uint32_t number) {
  switch (encoding) {
    case Encoding::kSop1:
      return 0xbe800000 | number << 8;
    case Encoding::kSop2:
      return 0x80000000 | number << 23;
    case Encoding::kSopc:
      return 0xbf000000 | number << 16;
    case Encoding::kSopk:
      return 0xb0000000 | number << 23;
    case Encoding::kSopp:
      return 0xbf800000 | number << 16;
    case Encoding::kSmem:
      return 0xf4000000 | number << 18;
    case Encoding::kVop1:
      return 0x7e000000 | number << 9;
    case Encoding::kVop2:
      return number << 25;
    case Encoding::kVopc:
      return 0x7c000000 | number << 17;
    case Encoding::kVop3:
      return 0xd4000000 | number << 16;
    case Encoding::kVop3p:
      return 0xcc000000 | number << 16;
    // Numbers past 15 exist in the Y half only; X then becomes another operation.
    case Encoding::kVopd:
      return 0xc8000000 | (number & 15) << 22;
    case Encoding::kDs:
      return 0xd8000000 | number << 18;
    case Encoding::kFlat:
      return 0xdc000000 | number << 18;
    case Encoding::kScratch:
      return 0xdc010000 | number << 18;
    case Encoding::kGlobal:
      return 0xdc020000 | number << 18;
    case Encoding::kMubuf:
      return 0xe0000000 | number << 18;
  }
  return 0;
}

// DPP16 or DPP8 in place of the first source.
void Generator::add_dpp() {
  constexpr uint32_t kControls[] = {0x1b, 0xe4, 0x101, 0x11f, 0x121, 0x140, 0x141, 0x150, 0x16f};
  const uint32_t kind = below(4);
  uint32_t& source_word = words_[base_dwords_ - 1];
  source_word = (source_word & ~0x1ffu) | (kind == 0 ? 233 + below(2) : 250);
  uint32_t word = static_cast<uint32_t>(random_());
  if (kind != 0) {
    word = (word & 0xff0c00ffu) | kControls[below(9)] << 8;
    const uint32_t bits = base_dwords_ == 1 ? form_.modifiers & below(64) : 0;
    word |=
        (bits & 1) << 20 | (bits >> 3 & 1) << 21 | (bits >> 1 & 1) << 22 | (bits >> 4 & 1) << 23;
  }
  words_[base_dwords_] = word;
}

Slot Generator::run() {
  words_[0] = first_word(encoding_, form_.number);
  base_dwords_ = (words_[0] >> 30) == 3 ? 2 : 1;
  if (base_dwords_ == 2) words_[1] = 0;
  fill_fields();
  if (encoding_ == Encoding::kVopd) add_second_half();
  add_modifiers();
  if (needs_literal_) {
    words_[base_dwords_] = literal();
  } else if ((form_.modifiers & kFormDpp) != 0 && chance(3)) {
    add_dpp();
  }
  return words_;
}

}  // namespace

Slot random_encoding(Encoding encoding, const Form& form, std::mt19937& random, bool plain) {
  return Generator(encoding, form, random, plain).run();
}

}  // namespace moe::sim::rdna::testing
