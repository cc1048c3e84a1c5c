#include "text/chat/numbers.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

// Without surrounding whitespace, and with digits of all scripts as ASCII ones.
std::string plain_number(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_next(text, i);
    if (is_space(c)) {
      plain.push_back(' ');
    } else if (is_decimal(c)) {
      plain.push_back(static_cast<char>('0' + decimal_value(c)));
    } else {
      append_utf8(plain, c);
    }
  }
  const size_t first = plain.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return plain.substr(first, plain.find_last_not_of(' ') - first + 1);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// Takes the prefix of the base off; 0 when base 0 finds a malformed number.
int resolve_base(std::string& digits, int base) {
  const char kind = digits.size() > 1 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : 0;
  const int prefixed = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (prefixed != 0 && (base == 0 || base == prefixed)) {
    digits.erase(0, 2);
    if (!digits.empty() && digits[0] == '_') digits.erase(0, 1);
    return prefixed;
  }
  if (base != 0) return base;
  if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of("0_") != digits.npos) {
    return 0;
  }
  return 10;
}

// Underscores may stand only between digits.
bool drop_underscores(std::string& digits) {
  std::string clean;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      clean.push_back(digits[i]);
      continue;
    }
    if (i == 0 || i + 1 == digits.size() || digit_of(digits[i - 1]) > 35 ||
        digit_of(digits[i + 1]) > 35) {
      return false;
    }
  }
  digits = std::move(clean);
  return true;
}

}  // namespace

ParsedInt parse_python_int(std::string_view text, int base) {
  std::string digits = plain_number(text);
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.erase(0, 1);
  }
  const int actual = resolve_base(digits, base);
  if (actual == 0 || !drop_underscores(digits) || digits.empty()) return {ParsedInt::kInvalid, 0};
  int64_t value = 0;
  bool too_big = false;
  for (char c : digits) {
    const int digit = digit_of(c);
    if (digit >= actual) return {ParsedInt::kInvalid, 0};
    // Counted downwards: the least int64_t has no positive counterpart.
    too_big = too_big || __builtin_mul_overflow(value, int64_t{actual}, &value) ||
              __builtin_sub_overflow(value, int64_t{digit}, &value);
  }
  if (!negative && !too_big) too_big = __builtin_sub_overflow(int64_t{0}, value, &value);
  return {too_big ? ParsedInt::kTooBig : ParsedInt::kOk, too_big ? 0 : value};
}

std::optional<double> parse_python_float(std::string_view text) {
  std::string digits = plain_number(text);
  double sign = 1;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    sign = digits[0] == '-' ? -1 : 1;
    digits.erase(0, 1);
  }
  std::string lower = digits;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  if (lower == "inf" || lower == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (digits.find_first_not_of("0123456789_.eE+-") != digits.npos) return std::nullopt;
  if (digits.empty() || !drop_underscores(digits) || digits[0] == '+' || digits[0] == '-') {
    return std::nullopt;
  }
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ptr != end) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) {
    value = std::strtod(digits.c_str(), nullptr);  // infinity or the nearest small number
  } else if (parsed.ec != std::errc()) {
    return std::nullopt;
  }
  return sign * value;
}

std::string print_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view printed(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = printed.find('e');
  int exponent = 0;
  const std::string_view exponent_digits = printed.substr(printed[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent_digits.data(), exponent_digits.data() + exponent_digits.size(),
                  exponent);
  const bool negative = printed[0] == '-';
  std::string digits;
  for (char c : printed.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  std::string out = negative ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    out += exponent < 0 ? "e-" : "e+";
    const int magnitude = exponent < 0 ? -exponent : exponent;
    if (magnitude < 10) out += "0";
    return out + std::to_string(magnitude);
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) {
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  }
  const auto point = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

}  // namespace moe::text::jinja
