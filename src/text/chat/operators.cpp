#include "text/chat/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {
namespace {

std::string_view spelling(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    case Op::kPower:
      return "**";
    case Op::kEqual:
      return "==";
    case Op::kNotEqual:
      return "!=";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kGreater:
      return ">";
    case Op::kGreaterEqual:
      return ">=";
    case Op::kIn:
      return "in";
    case Op::kNotIn:
      return "not in";
  }
  return "?";
}

Error bad_operands(Op op, const Value& left, const Value& right) {
  return invalid_argument(fmt::format("unsupported operand types for {}: '{}' and '{}'",
                                      spelling(op), left.type_name(), right.type_name()));
}

Error overflow(Op op) {
  return unsupported(fmt::format("the result of {} does not fit a 64-bit integer", spelling(op)));
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return invalid_argument("0 cannot be raised to a negative power");
    return Value::floating(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  // These bases have a result for every exponent; any other leaves 64 bits within 63 steps.
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return overflow(Op::kPower);
  }
  return Value::integer(result);
}

Result<Value> integer_arithmetic(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return overflow(op);
      return Value::integer(result);
    case Op::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow(op);
      return Value::integer(result);
    case Op::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow(op);
      return Value::integer(result);
    case Op::kPower:
      return integer_power(a, b);
    case Op::kDivide:
      if (b == 0) return invalid_argument("division by zero");
      // long double holds every int64_t, so that the quotient is rounded from the exact operands.
      return Value::floating(
          static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case Op::kFloorDivide:
      if (b == 0) return invalid_argument("integer division or modulo by zero");
      if (a == INT64_MIN && b == -1) return overflow(op);
      return Value::integer(a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0));
    default:
      if (b == 0) return invalid_argument("integer division or modulo by zero");
      if (b == -1) return Value::integer(0);
      return Value::integer(a % b + ((a % b != 0 && (a % b < 0) != (b < 0)) ? b : 0));
  }
}

// Python's float floor division and modulo, from one fmod.
std::pair<double, double> float_divmod(double a, double b) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  double floordiv = 0;
  if (div != 0) {
    floordiv = std::floor(div);
    if (div - floordiv > 0.5) floordiv += 1.0;
  } else {
    floordiv = std::copysign(0.0, a / b);
  }
  return {floordiv, mod};
}

Result<Value> float_arithmetic(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value::floating(a + b);
    case Op::kSubtract:
      return Value::floating(a - b);
    case Op::kMultiply:
      return Value::floating(a * b);
    case Op::kPower: {
      if (a == 0 && b < 0) return invalid_argument("0.0 cannot be raised to a negative power");
      if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
        return unsupported("a power with a complex result is not supported");
      }
      const double result = std::pow(a, b);
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
        return invalid_argument("the result of ** is too large for a float");
      }
      return Value::floating(result);
    }
    case Op::kDivide:
      if (b == 0) return invalid_argument("float division by zero");
      return Value::floating(a / b);
    default: {
      if (b == 0) return invalid_argument("float floor division or modulo by zero");
      const auto [quotient, remainder] = float_divmod(a, b);
      return Value::floating(op == Op::kFloorDivide ? quotient : remainder);
    }
  }
}

// jinja2's Markup escapes plain text that is added to it.
Result<Value> add_texts(Interp& interp, const Text& left, const Text& right) {
  TextBuilder out = interp.text_builder();
  const bool markup = left.markup || right.markup;
  for (const Text* part : {&left, &right}) {
    if (markup && !part->markup) {
      append_html_escaped(out, *part);
    } else {
      out.append(*part);
    }
  }
  Value sum = TRY(interp.make_text(std::move(out)));
  return markup ? as_markup(sum) : sum;
}

Result<Value> repeat(Interp& interp, const Value& unit, int64_t times) {
  const bool empty = unit.is_text() ? unit.bytes().empty() : unit.items().empty();
  const size_t count = times > 0 && !empty ? static_cast<size_t>(times) : 0;
  if (unit.is_text()) {
    TextBuilder out = interp.text_builder();
    const bool fits = empty || count <= out.limit_bytes() / unit.bytes().size();
    if (!fits) out.append_fill(unit.bytes(), count);  // refused there as too long
    for (size_t i = 0; fits && i < count; ++i) out.append(unit.as_text());
    Value text = TRY(interp.make_text(std::move(out)));
    return unit.as_text().markup ? as_markup(text) : text;
  }
  const std::vector<Value>& items = unit.items();
  if (!items.empty() && count > interp.limits().list_items / items.size()) {
    return unsupported(
        fmt::format("a list would get more than {} items", interp.limits().list_items));
  }
  std::vector<Value> all;
  all.reserve(items.size() * count);
  for (size_t i = 0; i < count; ++i) all.insert(all.end(), items.begin(), items.end());
  return unit.is(Kind::kTuple) ? interp.make_tuple(std::move(all))
                               : interp.make_list(std::move(all));
}

Result<int> order_of_items(Interp& interp, Op op, const std::vector<Value>& a,
                           const std::vector<Value>& b);

// <0, 0, >0; 2 for numbers that have no order.
Result<int> order_of(Interp& interp, Op op, const Value& a, const Value& b) {
  if (a.is(Kind::kUndefined)) return undefined_error(a);
  if (b.is(Kind::kUndefined)) return undefined_error(b);
  if (a.is_integral() && b.is_integral()) {
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  }
  if (a.is_number() && b.is_number()) {
    // long double holds every int64_t and every double.
    const auto wide = [](const Value& v) {
      return v.is(Kind::kFloat) ? static_cast<long double>(v.as_float())
                                : static_cast<long double>(v.as_int());
    };
    const long double x = wide(a);
    const long double y = wide(b);
    if (std::isnan(x) || std::isnan(y)) return 2;
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.is_text() && b.is_text()) {
    const int order = a.bytes().compare(b.bytes());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    return order_of_items(interp, op, a.items(), b.items());
  }
  return invalid_argument(fmt::format("'{}' is not supported between values of type '{}' and '{}'",
                                      spelling(op), a.type_name(), b.type_name()));
}

Result<int> order_of_items(Interp& interp, Op op, const std::vector<Value>& a,
                           const std::vector<Value>& b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (!equal(a[i], b[i])) return order_of(interp, op, a[i], b[i]);
  }
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

struct Bounds {
  int64_t start;
  int64_t step;
  size_t count;
};

// Python's slice.indices().
Result<Bounds> slice_bounds(size_t size, const Value& start, const Value& stop, const Value& step) {
  const auto given = [](const Value& v) { return !v.is(Kind::kMissing) && !v.is(Kind::kNone); };
  for (const Value* part : {&start, &stop, &step}) {
    if (given(*part) && !part->is_integral()) {
      if (part->is(Kind::kUndefined)) return undefined_error(*part);
      return type_error("slice", *part, "int");
    }
  }
  const int64_t by = given(step) ? step.as_int() : 1;
  if (by == 0) return invalid_argument("slice step cannot be zero");
  const auto length = static_cast<int64_t>(size);
  const int64_t lowest = by > 0 ? 0 : -1;
  const int64_t highest = by > 0 ? length : length - 1;
  const auto clamp = [&](const Value& v, int64_t otherwise) {
    if (!given(v)) return otherwise;
    const int64_t index = v.as_int() < 0 ? v.as_int() + length : v.as_int();
    return std::clamp(index, lowest, highest);
  };
  const int64_t from = clamp(start, by > 0 ? lowest : highest);
  const int64_t to = clamp(stop, by > 0 ? highest : lowest);
  const int64_t distance = by > 0 ? to - from : from - to;
  if (distance <= 0) return Bounds{from, by, 0};
  // by may be the least int64_t, which has no positive counterpart.
  const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
  return Bounds{from, by, static_cast<size_t>((static_cast<uint64_t>(distance) - 1) / stride + 1)};
}

Result<Value> slice_text(Interp& interp, const Text& text, const Bounds& bounds) {
  TextBuilder out = interp.text_builder();
  if (bounds.step == 1) {
    const auto first = static_cast<size_t>(bounds.start);
    const size_t begin = byte_offset(text, bounds.count == 0 ? 0 : first);
    const size_t end = bounds.count == 0 ? begin : byte_offset(text, first + bounds.count);
    out.append_slice(text, begin, end);
  } else if (bounds.count > 0) {
    std::vector<size_t> offsets;
    for (size_t p = 0; p < text.bytes.size();) {
      offsets.push_back(p);
      decode_next(text.bytes, p);
    }
    offsets.push_back(text.bytes.size());
    for (size_t i = 0; i < bounds.count; ++i) {
      const auto at = static_cast<size_t>(bounds.start + static_cast<int64_t>(i) * bounds.step);
      out.append_slice(text, offsets[at], offsets[at + 1]);
    }
  }
  Value result = TRY(interp.make_text(std::move(out)));
  return text.markup ? as_markup(result) : result;
}

}  // namespace

Result<Value> arithmetic(Interp& interp, Op op, const Value& left, const Value& right) {
  if (left.is(Kind::kUndefined)) return undefined_error(left);
  if (op == Op::kModulo && left.is_text()) {
    if (left.as_text().markup) return unsupported("% on text marked safe is not supported");
    return format_percent(interp, left.as_text(), right);
  }
  if (right.is(Kind::kUndefined)) return undefined_error(right);
  if (left.is_integral() && right.is_integral()) {
    return integer_arithmetic(op, left.as_int(), right.as_int());
  }
  if (left.is_number() && right.is_number()) {
    return float_arithmetic(op, left.to_double(), right.to_double());
  }
  if (op == Op::kAdd && left.is_text() && right.is_text()) {
    return add_texts(interp, left.as_text(), right.as_text());
  }
  if (op == Op::kAdd && left.is_sequence() && left.kind() == right.kind()) {
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return left.is(Kind::kTuple) ? interp.make_tuple(std::move(items))
                                 : interp.make_list(std::move(items));
  }
  if (op == Op::kMultiply) {
    if ((left.is_text() || left.is_sequence()) && right.is_integral()) {
      return repeat(interp, left, right.as_int());
    }
    if ((right.is_text() || right.is_sequence()) && left.is_integral()) {
      return repeat(interp, right, left.as_int());
    }
  }
  return bad_operands(op, left, right);
}

Result<bool> compare(Interp& interp, Op op, const Value& left, const Value& right) {
  switch (op) {
    case Op::kEqual:
      return equal(left, right);
    case Op::kNotEqual:
      return !equal(left, right);
    case Op::kIn:
      return contains(interp, right, left);
    case Op::kNotIn:
      return !TRY(contains(interp, right, left));
    default:
      break;
  }
  const int order = TRY(order_of(interp, op, left, right));
  if (order == 2) return false;
  if (op == Op::kLess) return order < 0;
  if (op == Op::kLessEqual) return order <= 0;
  if (op == Op::kGreater) return order > 0;
  return order >= 0;
}

Result<bool> contains(Interp& interp, const Value& container, const Value& item) {
  if (container.is_text()) {
    if (!item.is_text()) {
      return type_error("left operand of 'in' on a str", item, "str");
    }
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  if (container.is(Kind::kDict)) {
    if (!hash_of(item)) return type_error("key of a dict", item, "a hashable type");
    return container.as_dict().find(item) != nullptr;
  }
  if (container.is_sequence()) {
    const auto& items = container.items();
    return std::any_of(items.begin(), items.end(), [&](const Value& v) { return equal(v, item); });
  }
  const auto cursor = TRY(interp.iterate(container));
  while (true) {
    const Value next = TRY(cursor->next(interp));
    if (next.is(Kind::kMissing)) return false;
    TRY(interp.charge_step());
    if (equal(next, item)) return true;
  }
}

Result<Value> negate(const Value& value, bool negative) {
  if (value.is(Kind::kUndefined)) return undefined_error(value);
  if (value.is(Kind::kFloat))
    return Value::floating(negative ? -value.as_float() : value.as_float());
  if (!value.is_integral()) {
    return type_error(negative ? "operand of unary -" : "operand of unary +", value, "a number");
  }
  int64_t result = value.as_int();
  if (negative && __builtin_sub_overflow(int64_t{0}, result, &result))
    return overflow(Op::kSubtract);
  return Value::integer(result);
}

Result<Value> slice(Interp& interp, const Value& object, const Value& start, const Value& stop,
                    const Value& step) {
  if (object.is(Kind::kUndefined)) return undefined_error(object);
  if (object.is_text()) {
    const Bounds bounds = TRY(slice_bounds(object.as_text().length, start, stop, step));
    return slice_text(interp, object.as_text(), bounds);
  }
  if (object.is_sequence()) {
    const Bounds bounds = TRY(slice_bounds(object.items().size(), start, stop, step));
    std::vector<Value> items;
    items.reserve(bounds.count);
    for (size_t i = 0; i < bounds.count; ++i) {
      const int64_t at = bounds.start + static_cast<int64_t>(i) * bounds.step;
      items.push_back(object.items()[static_cast<size_t>(at)]);
    }
    return object.is(Kind::kTuple) ? interp.make_tuple(std::move(items))
                                   : interp.make_list(std::move(items));
  }
  if (const auto* range = object.object_as<Range>()) {
    const Bounds bounds = TRY(slice_bounds(*range->length(), start, stop, step));
    int64_t by = 0;
    int64_t first = 0;
    int64_t past = 0;
    if (__builtin_mul_overflow(range->step(), bounds.step, &by) ||
        __builtin_mul_overflow(range->step(), bounds.start, &first) ||
        __builtin_add_overflow(first, range->start(), &first) ||
        __builtin_mul_overflow(by, static_cast<int64_t>(bounds.count), &past) ||
        __builtin_add_overflow(first, past, &past)) {
      return unsupported("the slice of a range does not fit 64 bits");
    }
    return interp.make_object(std::make_shared<Range>(first, past, by, bounds.count));
  }
  return invalid_argument(fmt::format("a value of type '{}' cannot be sliced", object.type_name()));
}

}  // namespace moe::text::jinja
