// What Python's str says about characters: classes and case mappings, over utf8proc's tables.
#pragma once

#include "text/chat/text.hpp"

namespace moe::text::jinja {

bool is_space(char32_t c);          // str.isspace, and what strip() removes
bool is_line_boundary(char32_t c);  // what splitlines() splits at
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alnum(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);
bool is_printable(char32_t c);  // what repr() leaves as it is
bool is_word(char32_t c);       // \w of Python's re
bool is_identifier_start(char32_t c);
bool is_identifier(std::string_view text);
// Value of a decimal digit of any script; requires is_decimal(c).
int decimal_value(char32_t c);

enum class Case { kUpper, kLower, kTitle, kSwap, kFold };
// Appends the code points of text[begin, end) (bytes) in that case; one may become up to three.
void append_cased(TextBuilder& out, const Text& text, size_t begin, size_t end, Case target);

}  // namespace moe::text::jinja
