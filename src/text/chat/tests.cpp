// The tests of the `is` operator.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/print.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

template <bool (*kHolds)(const Value&)>
Result<bool> simple(Interp&, const Value& input, Args& args) {
  TRY(bind_args("test", args, {}, 0));
  return kHolds(input);
}

bool is_defined(const Value& v) { return !v.is(Kind::kUndefined); }
bool is_undefined(const Value& v) { return v.is(Kind::kUndefined); }
bool is_none(const Value& v) { return v.is(Kind::kNone); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.as_bool(); }
bool is_false(const Value& v) { return v.is(Kind::kBool) && !v.as_bool(); }
bool is_integer(const Value& v) { return v.is(Kind::kInt); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_text(); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_callable(const Value& v) {
  // Python's callable() finds the __call__ that Undefined has for its error.
  return v.is(Kind::kUndefined) || (v.is(Kind::kObject) && v.as_object().is_callable());
}
bool is_escaped(const Value& v) { return v.is_text() && v.as_text().markup; }

bool is_sequence(const Value& v) {
  return v.is_text() || v.is_sequence() || v.is(Kind::kDict) || v.is(Kind::kUndefined) ||
         (v.is(Kind::kObject) && v.as_object().is_sequence());
}

bool is_iterable(const Value& v) {
  if (v.is(Kind::kObject)) return v.as_object().cursor(v.share_object()) != nullptr;
  return is_sequence(v);
}

Result<bool> divides(const Value& input, int64_t divisor, int64_t rest) {
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (!input.is_number()) return type_error("test", input, "a number");
  if (divisor == 0) return invalid_argument("integer division or modulo by zero");
  if (input.is(Kind::kFloat)) {
    const double number = input.as_float();
    const double quotient = number / static_cast<double>(divisor);
    if (!(quotient > -0x1p62 && quotient < 0x1p62)) {
      return unsupported("a number is too large for this test");
    }
    double remainder =
        number - static_cast<double>(divisor) * static_cast<double>(static_cast<int64_t>(quotient));
    if (remainder != 0 && (remainder < 0) != (divisor < 0)) {
      remainder += static_cast<double>(divisor);
    }
    return remainder == static_cast<double>(rest);
  }
  if (divisor == -1) return rest == 0;
  int64_t remainder = input.as_int() % divisor;
  if (remainder != 0 && (remainder < 0) != (divisor < 0)) remainder += divisor;
  return remainder == rest;
}

Result<bool> test_even(Interp&, const Value& input, Args& args) {
  TRY(bind_args("test 'even'", args, {}, 0));
  return divides(input, 2, 0);
}
Result<bool> test_odd(Interp&, const Value& input, Args& args) {
  TRY(bind_args("test 'odd'", args, {}, 0));
  return divides(input, 2, 1);
}
Result<bool> test_divisibleby(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("test 'divisibleby'", args, {"num"}, 1));
  return divides(input, TRY(int_arg("test 'divisibleby'", bound[0], 1)), 0);
}

template <Op kOp>
Result<bool> comparison(Interp& interp, const Value& input, Args& args) {
  TRY(positional_only("test", args, 1, 1));
  return compare(interp, kOp, input, args.positional[0]);
}

// Python's `is`: values of one kind that are shared, not merely equal.
Result<bool> test_sameas(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("test 'sameas'", args, {"other"}, 1));
  if (input.kind() != bound[0].kind()) return false;
  switch (input.kind()) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return input.as_bool() == bound[0].as_bool();
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kText:
      return unsupported("the test 'sameas' of numbers and texts is not supported",
                         "use == in the template");
    default:
      return input.identity() == bound[0].identity();
  }
}

// Whether there are cased characters, all of them in that case.
Result<bool> cased(Interp& interp, const Value& input, Args& args, std::string_view method) {
  TRY(bind_args("test", args, {}, 0));
  const Value text = TRY(to_text(interp, input));
  Args none;
  return TRY(find_text_method(method)->run(interp, text, none)).truthy();
}
Result<bool> test_lower(Interp& interp, const Value& input, Args& args) {
  return cased(interp, input, args, "islower");
}
Result<bool> test_upper(Interp& interp, const Value& input, Args& args) {
  return cased(interp, input, args, "isupper");
}

Result<bool> test_filter(Interp&, const Value& input, Args& args) {
  TRY(bind_args("test 'filter'", args, {}, 0));
  return input.is_text() && find_filter(input.bytes()) != nullptr;
}
Result<bool> test_test(Interp&, const Value& input, Args& args) {
  TRY(bind_args("test 'test'", args, {}, 0));
  return input.is_text() && find_test(input.bytes()) != nullptr;
}

constexpr Test kTests[] = {
    {"!=", comparison<Op::kNotEqual>},
    {"<", comparison<Op::kLess>},
    {"<=", comparison<Op::kLessEqual>},
    {"==", comparison<Op::kEqual>},
    {">", comparison<Op::kGreater>},
    {">=", comparison<Op::kGreaterEqual>},
    {"boolean", simple<is_boolean>},
    {"callable", simple<is_callable>},
    {"defined", simple<is_defined>},
    {"divisibleby", test_divisibleby},
    {"eq", comparison<Op::kEqual>},
    {"equalto", comparison<Op::kEqual>},
    {"escaped", simple<is_escaped>},
    {"even", test_even},
    {"false", simple<is_false>},
    {"filter", test_filter},
    {"float", simple<is_float>},
    {"ge", comparison<Op::kGreaterEqual>},
    {"greaterthan", comparison<Op::kGreater>},
    {"gt", comparison<Op::kGreater>},
    {"in", comparison<Op::kIn>},
    {"integer", simple<is_integer>},
    {"iterable", simple<is_iterable>},
    {"le", comparison<Op::kLessEqual>},
    {"lessthan", comparison<Op::kLess>},
    {"lower", test_lower},
    {"lt", comparison<Op::kLess>},
    {"mapping", simple<is_mapping>},
    {"ne", comparison<Op::kNotEqual>},
    {"none", simple<is_none>},
    {"number", simple<is_number>},
    {"odd", test_odd},
    {"sameas", test_sameas},
    {"sequence", simple<is_sequence>},
    {"string", simple<is_string>},
    {"test", test_test},
    {"true", simple<is_true>},
    {"undefined", simple<is_undefined>},
    {"upper", test_upper},
};

}  // namespace

const Test* find_test(std::string_view name) {
  for (const Test& test : kTests) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

}  // namespace moe::text::jinja
