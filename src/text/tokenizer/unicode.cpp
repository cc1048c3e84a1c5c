#include "text/tokenizer/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

// The longest decomposition of one code point (U+FDFA) has 18.
constexpr int kMaxDecomposition = 32;

utf8proc_category_t category_of(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

int combining_class(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

bool is_opaque(uint32_t code_point) {
  return code_point >= 0x300 && in_ranges(normalization_opaque(), code_point);
}

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc:
    case NormalForm::kNfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case NormalForm::kNfkc:
    case NormalForm::kNfkd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  return UTF8PROC_STABLE;
}

void decompose(std::vector<int32_t>& out, std::string_view text, NormalForm form) {
  int32_t parts[kMaxDecomposition];
  int boundary = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.size;
    const auto count = utf8proc_decompose_char(static_cast<int32_t>(point.value), parts,
                                               kMaxDecomposition, options_of(form), &boundary);
    if (count <= 0 || count > kMaxDecomposition) {
      out.push_back(static_cast<int32_t>(point.value));
    } else {
      out.insert(out.end(), parts, parts + count);
    }
  }
}

// Canonical order: stable by combining class within each run of non-starters. utf8proc's own
// ordering is quadratic in the run's length.
void order_marks(std::vector<int32_t>& points) {
  struct Mark {
    int combining_class;
    size_t place;
    int32_t point;
  };
  std::vector<Mark> run;
  for (size_t begin = 0; begin < points.size(); ++begin) {
    run.clear();
    for (size_t at = begin; at < points.size() && combining_class(points[at]) != 0; ++at) {
      run.push_back({combining_class(points[at]), at, points[at]});
    }
    if (run.size() > 1) {
      std::sort(run.begin(), run.end(), [](const Mark& a, const Mark& b) {
        return std::pair(a.combining_class, a.place) < std::pair(b.combining_class, b.place);
      });
      for (size_t i = 0; i < run.size(); ++i) points[begin + i] = run[i].point;
    }
    begin += run.size();
  }
}

void append_chunk(std::string& out, std::string_view text, NormalForm form) {
  std::vector<int32_t> points;
  decompose(points, text, form);
  order_marks(points);
  auto count = static_cast<utf8proc_ssize_t>(points.size());
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    count = utf8proc_normalize_utf32(points.data(), count, options);
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    append_utf8(out, static_cast<uint32_t>(points[static_cast<size_t>(i)]));
  }
}

}  // namespace

bool in_ranges(Ranges ranges, uint32_t code_point) {
  const auto above = std::upper_bound(
      ranges.begin(), ranges.end(), code_point,
      [](uint32_t value, const CodePointRange& range) { return value < range.first; });
  return above != ranges.begin() && code_point <= std::prev(above)->last;
}

bool is_white_space(uint32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0D);
  if (code_point == 0x85) return true;
  const auto category = category_of(code_point);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_numeric(uint32_t code_point) {
  const auto category = category_of(code_point);
  return (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) ||
         in_ranges(numeric_added(), code_point);
}

bool is_punctuation(uint32_t code_point) {
  if (code_point < 0x80) {
    return (code_point >= '!' && code_point <= '/') || (code_point >= ':' && code_point <= '@') ||
           (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
  }
  const auto category = category_of(code_point);
  const bool listed = category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
  return listed ? !in_ranges(punctuation_removed(), code_point)
                : in_ranges(punctuation_added(), code_point);
}

bool is_combining_mark(uint32_t code_point) {
  if (code_point < 0x300) return false;
  const auto category = category_of(code_point);
  const bool listed = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
  return listed ? !in_ranges(mark_removed(), code_point) : in_ranges(mark_added(), code_point);
}

bool is_word(uint32_t code_point) {
  const auto category = category_of(code_point);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC || in_ranges(word_added(), code_point);
}

void append_lowercase(std::string& out, uint32_t code_point) {
  constexpr uint32_t kCapitalIWithDot = 0x130;
  if (code_point == kCapitalIWithDot) {
    out += "i\xCC\x87";
    return;
  }
  for (const LowercaseShift& row : lowercase_added()) {
    if (code_point < row.first || code_point > row.last) continue;
    append_utf8(out, static_cast<uint32_t>(static_cast<int64_t>(code_point) + row.shift));
    return;
  }
  append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<int32_t>(code_point))));
}

size_t normalization_chunk(std::string_view text) {
  const CodePoint first = code_point_at(text, 0);
  size_t end = first.size;
  if (is_opaque(first.value)) return end;
  // ASCII never joins what stands before it, in any of the four forms.
  while (end < text.size() && static_cast<uint8_t>(text[end]) >= 0x80) {
    const CodePoint point = code_point_at(text, end);
    if (is_opaque(point.value)) break;
    end += point.size;
  }
  return end;
}

void append_normalized(std::string& out, std::string_view text, NormalForm form) {
  while (!text.empty()) {
    const size_t size = normalization_chunk(text);
    const std::string_view chunk = text.substr(0, size);
    const bool plain = size == 1 || is_opaque(code_point_at(chunk, 0).value);
    if (plain) {
      out += chunk;
    } else {
      append_chunk(out, chunk, form);
    }
    text.remove_prefix(size);
  }
}

}  // namespace moe::text
