#include "text/chat/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace moe::text::jinja {
namespace {

struct SpecialCase {
  char32_t from;
  char32_t to[3];
};
struct CodePointRange {
  char32_t first;
  char32_t last;
};
#include "text/chat/casing_tables.inc"

template <size_t N>
bool in_ranges(const CodePointRange (&ranges)[N], char32_t c) {
  const auto after =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t value, const CodePointRange& r) { return value < r.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

template <size_t N>
const SpecialCase* find_special(const SpecialCase (&table)[N], char32_t c) {
  const auto at =
      std::lower_bound(std::begin(table), std::end(table), c,
                       [](const SpecialCase& row, char32_t value) { return row.from < value; });
  return at != std::end(table) && at->from == c ? at : nullptr;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019 || c == 0x2018;
  }
}

// A capital sigma becomes the final form when a cased letter stands before it and none after.
bool is_final_sigma(const Text& text, size_t begin, size_t end) {
  size_t before = begin;
  bool cased_before = false;
  while (before > 0) {
    const char32_t c = decode_previous(text.bytes, before);
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  if (!cased_before) return false;
  while (end < text.bytes.size()) {
    const char32_t c = decode_next(text.bytes, end);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

void append_special(TextBuilder& out, const SpecialCase& special, bool untrusted) {
  for (char32_t c : special.to) {
    if (c != 0) out.append_code_point(c, untrusted);
  }
}

void append_lower(TextBuilder& out, const Text& text, size_t begin, size_t end, char32_t c,
                  bool untrusted) {
  if (c == 0x3A3) {
    out.append_code_point(is_final_sigma(text, begin, end) ? 0x3C2 : 0x3C3, untrusted);
  } else if (c == 0x130) {
    out.append_code_point('i', untrusted);
    out.append_code_point(0x307, untrusted);
  } else {
    out.append_code_point(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                          untrusted);
  }
}

void append_folded(TextBuilder& out, char32_t c, bool untrusted) {
  utf8proc_int32_t folded[8];
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded,
                                                         8, UTF8PROC_CASEFOLD, &boundary);
  if (count < 1 || count > 8) {
    out.append_code_point(c, untrusted);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    out.append_code_point(static_cast<char32_t>(folded[i]), untrusted);
  }
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_line_boundary(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_alpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const auto cat = category(c);
  return cat >= UTF8PROC_CATEGORY_LU && cat <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return category(c) == UTF8PROC_CATEGORY_ND;
}
bool is_digit(char32_t c) { return is_decimal(c) || in_ranges(kDigitsBesidesNd, c); }
bool is_numeric(char32_t c) {
  if (c < 0x80) return is_decimal(c);
  const auto cat = category(c);
  return (cat >= UTF8PROC_CATEGORY_ND && cat <= UTF8PROC_CATEGORY_NO) ||
         in_ranges(kNumericLetters, c);
}
bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_upper(char32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool is_lower(char32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }
bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }
bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_word(char32_t c) { return c == '_' || is_alnum(c); }

bool is_identifier_start(char32_t c) {
  return c == '_' || is_alpha(c) || (c >= 0x80 && category(c) == UTF8PROC_CATEGORY_NL);
}

bool is_identifier(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    const bool first = position == 0;
    const char32_t c = decode_next(text, position);
    if (is_identifier_start(c)) continue;
    if (first) return false;
    const auto cat = category(c);
    if (!is_decimal(c) && cat != UTF8PROC_CATEGORY_MN && cat != UTF8PROC_CATEGORY_MC &&
        cat != UTF8PROC_CATEGORY_PC) {
      return false;
    }
  }
  return !text.empty();
}

int decimal_value(char32_t c) {
  if (c < 0x80) return static_cast<int>(c) - '0';
  // The digits of a script are ten code points in a row, and such rows begin with zero.
  char32_t start = c;
  while (start > 0 && category(start - 1) == UTF8PROC_CATEGORY_ND) --start;
  return static_cast<int>((c - start) % 10);
}

void append_cased(TextBuilder& out, const Text& text, size_t begin, size_t end, Case target) {
  size_t position = begin;
  while (position < end && !out.overflowed()) {
    const size_t start = position;
    const char32_t c = decode_next(text.bytes, position);
    const bool untrusted = text.is_untrusted_at(start);
    const auto code = static_cast<utf8proc_int32_t>(c);
    Case to = target;
    if (to == Case::kSwap) to = is_upper(c) ? Case::kLower : Case::kUpper;
    if (target == Case::kSwap && !is_cased(c)) {
      out.append_code_point(c, untrusted);
    } else if (to == Case::kLower) {
      append_lower(out, text, start, position, c, untrusted);
    } else if (to == Case::kFold) {
      append_folded(out, c, untrusted);
    } else if (to == Case::kUpper) {
      const auto* special = find_special(kSpecialUpper, c);
      if (special != nullptr) append_special(out, *special, untrusted);
      if (special == nullptr) {
        out.append_code_point(static_cast<char32_t>(utf8proc_toupper(code)), untrusted);
      }
    } else {
      const auto* special = find_special(kSpecialTitle, c);
      if (special != nullptr) append_special(out, *special, untrusted);
      if (special == nullptr) {
        out.append_code_point(static_cast<char32_t>(utf8proc_totitle(code)), untrusted);
      }
    }
  }
}

}  // namespace moe::text::jinja
