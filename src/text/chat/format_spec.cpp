#include "text/chat/format_spec.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {
namespace {

// No float has more digits that differ from zero.
constexpr int kMaxPrecision = 1100;

void append_padded(TextBuilder& out, const Text& body, const FormatSpec& spec, char align) {
  const size_t padding = spec.width > body.length ? spec.width - body.length : 0;
  const size_t before = align == '>' ? padding : align == '^' ? padding / 2 : 0;
  out.append_fill(spec.fill, before);
  out.append(body);
  out.append_fill(spec.fill, padding - before);
}

std::string grouped(const std::string& digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) out.push_back(separator);
    out.push_back(digits[i]);
  }
  return out;
}

std::string digits_of(uint64_t magnitude, char type) {
  switch (type) {
    case 'x':
      return fmt::format("{:x}", magnitude);
    case 'X':
      return fmt::format("{:X}", magnitude);
    case 'o':
      return fmt::format("{:o}", magnitude);
    case 'b':
      return fmt::format("{:b}", magnitude);
    default:
      return fmt::format("{}", magnitude);
  }
}

void append_number(TextBuilder& out, bool negative, const std::string& prefix,
                   const std::string& digits, const FormatSpec& spec) {
  std::string lead = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  lead += prefix;
  if (spec.align != '=') {
    return append_padded(out, make_text(lead + digits), spec, spec.align == 0 ? '>' : spec.align);
  }
  out.append(lead);
  FormatSpec rest = spec;
  rest.width = spec.width > lead.size() ? spec.width - lead.size() : 0;
  append_padded(out, make_text(digits), rest, '>');
}

Status append_integer(TextBuilder& out, int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) return invalid_argument("precision is not allowed for an integer");
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char type = spec.type == 0 || spec.type == 'n' ? 'd' : spec.type;
  std::string digits = digits_of(magnitude, type);
  if (spec.grouping != 0) digits = grouped(digits, spec.grouping, type == 'd' ? 3 : 4);
  const std::string prefix = spec.alternate && type != 'd' ? std::string{'0', type} : std::string();
  append_number(out, value < 0, prefix, digits, spec);
  return {};
}

Status append_float(TextBuilder& out, double value, const FormatSpec& spec) {
  if (spec.precision > kMaxPrecision) {
    return unsupported(fmt::format("a precision over {} is not supported", kMaxPrecision));
  }
  const bool negative = std::signbit(value) && !std::isnan(value);
  double magnitude = std::fabs(value);
  char type = spec.type;
  if (type == 0 && spec.precision >= 0) {
    return unsupported("a float format with a precision needs a type, such as .2f");
  }
  std::string digits;
  if (type == 0) {
    digits = print_float(magnitude);
  } else {
    if (type == '%') magnitude *= 100;
    const char letter = type == '%' ? 'f' : type == 'n' ? 'g' : type;
    const char pattern[] = {'%', spec.alternate ? '#' : '-', '.', '*', letter, 0};
    char buffer[2048];
    const int length = std::snprintf(buffer, sizeof(buffer), pattern,
                                     spec.precision < 0 ? 6 : spec.precision, magnitude);
    if (length < 0 || static_cast<size_t>(length) >= sizeof(buffer)) {
      return unsupported("a formatted float is too long");
    }
    digits.assign(buffer, static_cast<size_t>(length));
  }
  if (spec.grouping != 0) {
    const size_t point = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = grouped(digits.substr(0, point), spec.grouping, 3) + digits.substr(point);
  }
  if (type == '%') digits += "%";
  append_number(out, negative, "", digits, spec);
  return {};
}

Status append_text(Interp& interp, TextBuilder& out, const Text& text, const FormatSpec& spec) {
  if (spec.type != 0 && spec.type != 's') {
    return invalid_argument(fmt::format("format type '{}' is not for a str", spec.type));
  }
  if (spec.align == '=' || spec.sign != '-' || spec.grouping != 0) {
    return invalid_argument("sign, '=' and ',' are not for the format of a str");
  }
  TextBuilder body = interp.text_builder();
  size_t shown = text.length;
  if (spec.precision >= 0) shown = std::min(shown, static_cast<size_t>(spec.precision));
  body.append_slice(text, 0, byte_offset(text, shown));
  append_padded(out, std::move(body).finish(), spec, spec.align == 0 ? '<' : spec.align);
  return {};
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

}  // namespace

Result<size_t> parse_count(Interp& interp, std::string_view text, size_t& position) {
  size_t value = 0;
  for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
    value = value * 10 + static_cast<size_t>(text[position] - '0');
    if (value > interp.limits().text_bytes) {
      return unsupported(
          fmt::format("a format width over {} is not supported", interp.limits().text_bytes));
    }
  }
  return value;
}

Result<FormatSpec> parse_format_spec(Interp& interp, std::string_view text) {
  FormatSpec spec;
  size_t p = 0;
  size_t after_fill = 0;
  if (!text.empty()) decode_next(text, after_fill);
  if (after_fill > 0 && after_fill < text.size() && is_align(text[after_fill])) {
    spec.fill = std::string(text.substr(0, after_fill));
    spec.align = text[after_fill];
    p = after_fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[p++];
  }
  const auto next_is = [&](std::string_view any) {
    return p < text.size() && any.find(text[p]) != std::string_view::npos;
  };
  if (next_is("+- ")) spec.sign = text[p++];
  if (next_is("#")) spec.alternate = text[p++] == '#';
  if (next_is("0")) {
    ++p;
    if (spec.align == 0) {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  spec.width = TRY(parse_count(interp, text, p));
  if (next_is(",_")) spec.grouping = text[p++];
  if (next_is(".")) {
    ++p;
    if (!next_is("0123456789")) return invalid_argument("format specifier lacks its precision");
    spec.precision = static_cast<int>(TRY(parse_count(interp, text, p)));
  }
  if (p < text.size()) spec.type = text[p++];
  if (p != text.size()) {
    return invalid_argument(fmt::format("invalid format specifier '{}'", text));
  }
  return spec;
}

Status append_formatted(Interp& interp, TextBuilder& out, const Value& value,
                        const FormatSpec& spec) {
  constexpr std::string_view kIntegerTypes = "bdoxXn";
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  if (value.is_text()) return append_text(interp, out, value.as_text(), spec);
  if (value.is_number() && !(value.is(Kind::kBool) && spec.type == 0)) {
    const bool float_type = spec.type != 0 && kFloatTypes.find(spec.type) != kFloatTypes.npos;
    const bool integer_type = spec.type == 0 || kIntegerTypes.find(spec.type) != kIntegerTypes.npos;
    if (value.is_integral() && integer_type) return append_integer(out, value.as_int(), spec);
    if (float_type || (value.is(Kind::kFloat) && (spec.type == 0 || spec.type == 'n'))) {
      return append_float(out, value.to_double(), spec);
    }
    return invalid_argument(fmt::format("format type '{}' is not for a value of type '{}'",
                                        spec.type, value.type_name()));
  }
  const bool plain = spec.width == 0 && spec.precision < 0 && spec.type == 0;
  if (!plain && !value.is(Kind::kBool)) {
    return invalid_argument(
        fmt::format("a format specifier is not for a value of type '{}'", value.type_name()));
  }
  if (value.is(Kind::kBool) && spec.width > 0) return append_integer(out, value.as_int(), spec);
  return append_str(out, value);
}

}  // namespace moe::text::jinja
