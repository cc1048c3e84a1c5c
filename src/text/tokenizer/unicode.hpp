// Character classes and normalization forms as the `tokenizers` library sees them, on top of
// utf8proc and the corrections of unicode_tables.hpp. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer/unicode_tables.hpp"

namespace moe::text {

bool is_white_space(uint32_t code_point);
bool is_numeric(uint32_t code_point);         // categories Nd, Nl, No
bool is_punctuation(uint32_t code_point);     // category P and ASCII punctuation
bool is_combining_mark(uint32_t code_point);  // category M
bool is_word(uint32_t code_point);            // \w of Unicode TR 18
bool in_ranges(Ranges ranges, uint32_t code_point);

// Full lower case mapping without context, as one or two code points.
void append_lowercase(std::string& out, uint32_t code_point);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Appends the normal form of valid UTF-8 `text`, which is normalized for itself.
// Cost O(n log n) for any text, long runs of combining marks included.
void append_normalized(std::string& out, std::string_view text, NormalForm form);

// Length of the part at the start of `text` (not empty) that can be normalized for itself: what
// follows neither changes it nor is changed by it.
size_t normalization_chunk(std::string_view text);

}  // namespace moe::text
