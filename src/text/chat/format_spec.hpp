// Python's format specifications: fill, sign, width, precision and type of one formatted value.
#pragma once

#include <string>
#include <string_view>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ =; 0: by type
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  // , or _
  size_t width = 0;
  int precision = -1;
  char type = 0;
};

// The mini-language of format() and f-strings. Errors: malformed, or a width past the text limit.
Result<FormatSpec> parse_format_spec(Interp& interp, std::string_view text);
Status append_formatted(Interp& interp, TextBuilder& out, const Value& value,
                        const FormatSpec& spec);
// A decimal count at text[position]; 0 when there is none. Error: past the text limit.
Result<size_t> parse_count(Interp& interp, std::string_view text, size_t& position);

}  // namespace moe::text::jinja
