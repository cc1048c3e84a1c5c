// Corrections to the Unicode tables of PCRE2 and utf8proc, so that character classes agree with
// those of the `tokenizers` library that made the tokenizers. Data only; see unicode.hpp for use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace moe::text {

struct CodePointRange {
  uint32_t first;
  uint32_t last;  // inclusive
};
using Ranges = std::span<const CodePointRange>;

// One property of regular expressions (`\p{name}`) and the code points PCRE2 may not know in it.
struct PropertyRow {
  std::string_view name;
  Ranges added;
};

struct LowercaseShift {
  uint32_t first;
  uint32_t last;
  int32_t shift;  // lower case = code point + shift
};

std::span<const PropertyRow> property_rows();
// Code points that the library counts as assigned and PCRE2 may not.
Ranges assigned_since();
// Relative to utf8proc's categories: N*, P* + ASCII punctuation, M*, and L* M* Nd Nl Pc.
Ranges numeric_added();
Ranges punctuation_added();
Ranges punctuation_removed();
Ranges mark_added();
Ranges mark_removed();
Ranges word_added();
// Code points that the library's normalization passes through untouched.
Ranges normalization_opaque();
std::span<const LowercaseShift> lowercase_added();

}  // namespace moe::text
