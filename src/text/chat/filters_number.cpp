// Filters that give numbers, and the filters of jinja2 that are refused.
#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/operators.hpp"

namespace moe::text::jinja {
namespace {

Error too_big(std::string_view what) {
  return unsupported(fmt::format("{}: the number does not fit a 64-bit integer", what));
}

Result<Value> filter_abs(Interp&, const Value& input, Args& args) {
  TRY(bind_args("filter 'abs'", args, {}, 0));
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (input.is(Kind::kFloat)) return Value::floating(std::fabs(input.as_float()));
  if (!input.is_integral()) return type_error("filter 'abs'", input, "a number");
  return negate(Value::integer(input.as_int()), input.as_int() < 0);
}

// int(number) of a float; nullopt for what Python refuses with OverflowError or ValueError.
Result<std::optional<Value>> truncated(double number) {
  if (std::isnan(number) || std::isinf(number)) return std::optional<Value>();
  const double whole = std::trunc(number);
  if (!(whole >= -0x1p63 && whole < 0x1p63)) return too_big("filter 'int'");
  return std::optional<Value>(Value::integer(static_cast<int64_t>(whole)));
}

Result<Value> filter_int(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'int'", args, {"default", "base"}, 0));
  const Value otherwise = bound[0].is(Kind::kMissing) ? Value::integer(0) : bound[0];
  const int64_t base = TRY(int_arg("filter 'int'", bound[1], 10));
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (input.is_integral()) return Value::integer(input.as_int());
  std::optional<double> number;
  if (input.is(Kind::kFloat)) {
    if (std::isinf(input.as_float())) return invalid_argument("filter 'int': infinity is no int");
    number = input.as_float();
  } else if (input.is_text()) {
    if (base != 0 && (base < 2 || base > 36)) return otherwise;
    const auto parsed = parse_python_int(input.bytes(), static_cast<int>(base));
    if (parsed.status == ParsedInt::kTooBig) return too_big("filter 'int'");
    if (parsed.status == ParsedInt::kOk) return Value::integer(parsed.value);
    number = parse_python_float(input.bytes());
  }
  if (!number) return otherwise;
  const auto whole = TRY(truncated(*number));
  return whole ? *whole : otherwise;
}

Result<Value> filter_float(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'float'", args, {"default"}, 0));
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (input.is_number()) return Value::floating(input.to_double());
  const auto parsed = input.is_text() ? parse_python_float(input.bytes()) : std::nullopt;
  if (parsed) return Value::floating(*parsed);
  return bound[0].is(Kind::kMissing) ? Value::floating(0.0) : bound[0];
}

// Python's round(float, digits): correctly rounded decimals, halves to even.
double round_decimals(double number, int64_t digits) {
  if (!std::isfinite(number)) return number;
  if (digits > 323) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits >= 0) {
    // printf rounds the exact binary value, as Python does.
    const std::string printed = fmt::format("{:.{}f}", number, digits);
    return parse_python_float(printed).value_or(number);
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  const double lower = std::nearbyint(number / unit) * unit;
  return lower;
}

Result<Value> round_integer(int64_t number, int64_t digits) {
  if (digits >= 0) return Value::integer(number);
  if (digits < -18) return Value::integer(0);
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  int64_t rest = number % unit;
  if (rest < 0) rest += unit;
  int64_t down = 0;
  if (__builtin_sub_overflow(number, rest, &down)) return too_big("filter 'round'");
  const bool up = rest > unit - rest || (rest == unit - rest && (down / unit) % 2 != 0);
  if (up && __builtin_add_overflow(down, unit, &down)) return too_big("filter 'round'");
  return Value::integer(down);
}

Result<Value> filter_round(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'round'", args, {"precision", "method"}, 0));
  const int64_t digits = TRY(int_arg("filter 'round'", bound[0], 0));
  const std::string method = bound[1].is_text() ? bound[1].bytes() : "common";
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (!input.is_number()) return type_error("filter 'round'", input, "a number");
  if (method == "common") {
    if (input.is_integral()) return round_integer(input.as_int(), digits);
    return Value::floating(round_decimals(input.as_float(), digits));
  }
  if (method != "ceil" && method != "floor") {
    return invalid_argument("filter 'round' knows the methods common, ceil and floor");
  }
  if (digits < -300 || digits > 300) return unsupported("filter 'round': precision out of range");
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = input.to_double() * unit;
  if (!std::isfinite(scaled)) return invalid_argument("filter 'round': the number is too large");
  return Value::floating((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr Filter kFilters[] = {
    {"abs", filter_abs}, {"float", filter_float}, {"int", filter_int}, {"round", filter_round}};

template <size_t N>
struct FilterName {
  char text[N];
  constexpr FilterName(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: implicit
};

template <FilterName kName>
Result<Value> refuse(Interp&, const Value&, Args&) {
  return unsupported(fmt::format("the filter '{}' is not supported", kName.text),
                     "use a chat template without this filter");
}

constexpr Filter kUnsupported[] = {
    {"filesizeformat", refuse<"filesizeformat">},
    {"pprint", refuse<"pprint">},
    {"random", refuse<"random">},
    {"striptags", refuse<"striptags">},
    {"urlize", refuse<"urlize">},
    {"wordwrap", refuse<"wordwrap">},
    {"xmlattr", refuse<"xmlattr">},
};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }
std::span<const Filter> unsupported_filters() { return kUnsupported; }

const Filter* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), list_filters(), select_filters(), number_filters(),
                           unsupported_filters()}) {
    for (const Filter& filter : table) {
      if (filter.name == name) return &filter;
    }
  }
  return nullptr;
}

}  // namespace moe::text::jinja
