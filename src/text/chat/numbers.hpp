// Numbers as Python reads and prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace moe::text::jinja {

struct ParsedInt {
  enum Status { kOk, kInvalid, kTooBig } status;
  int64_t value;
};
// Python's int(text, base): surrounding whitespace, a sign, underscores, digits of any script;
// base 0 reads the prefixes 0x, 0o and 0b.
ParsedInt parse_python_int(std::string_view text, int base);
// Python's float(text).
std::optional<double> parse_python_float(std::string_view text);
// repr() of a float: the shortest digits that read back as the same number.
std::string print_float(double value);

}  // namespace moe::text::jinja
