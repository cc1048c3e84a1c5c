#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/nesting.hpp"
#include "text/chat/parser.hpp"

namespace moe::text::jinja {
namespace {

struct OpName {
  std::string_view text;
  Op op;
};
constexpr OpName kComparisons[] = {{"==", Op::kEqual},  {"!=", Op::kNotEqual},
                                   {"<", Op::kLess},    {"<=", Op::kLessEqual},
                                   {">", Op::kGreater}, {">=", Op::kGreaterEqual}};
constexpr OpName kProducts[] = {
    {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
constexpr OpName kSums[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};

template <size_t N>
const Op* find_op(const OpName (&table)[N], const Token& token) {
  if (token.kind != TokenKind::kOperator) return nullptr;
  for (const OpName& row : table) {
    if (row.text == token.text) return &row.op;
  }
  return nullptr;
}

bool is_constant_word(std::string_view word) {
  return word == "true" || word == "True" || word == "false" || word == "False" || word == "none" ||
         word == "None";
}

Value constant_of(std::string_view word) {
  if (word == "none" || word == "None") return Value::none();
  return Value::boolean(word == "true" || word == "True");
}

}  // namespace

ExprPtr Parser::make(ExprKind kind, int line) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

void Parser::add(Expr& parent, ExprPtr child) {
  if (child != nullptr) parent.depth = std::max(parent.depth, child->depth + 1);
  parent.items.push_back(std::move(child));
}

Status Parser::check_depth(const Expr& expr) const {
  if (expr.depth <= limits_.nesting) return {};
  return fail(fmt::format("expressions are nested deeper than {}", limits_.nesting), expr.line);
}

Status Parser::check_nesting() const {
  if (expression_nesting_ <= limits_.nesting) return {};
  return fail(fmt::format("expressions are nested deeper than {}", limits_.nesting));
}

Result<ExprPtr> Parser::parse_expression(bool with_conditional) {
  NestingGuard guard(expression_nesting_);
  TRY(check_nesting());
  return with_conditional ? parse_conditional() : parse_logic(true);
}

Result<ExprPtr> Parser::parse_conditional() {
  ExprPtr value = TRY(parse_logic(true));
  while (at_name("if")) {
    ExprPtr conditional = make(ExprKind::kConditional, current().line);
    advance();
    ExprPtr test = TRY(parse_logic(true));
    ExprPtr otherwise;
    if (skip_name("else")) {
      NestingGuard guard(expression_nesting_);
      TRY(check_nesting());
      otherwise = TRY(parse_conditional());
    }
    add(*conditional, std::move(value));
    add(*conditional, std::move(test));
    add(*conditional, std::move(otherwise));
    TRY(check_depth(*conditional));
    value = std::move(conditional);
  }
  return value;
}

Result<ExprPtr> Parser::parse_logic(bool is_or) {
  const int line = current().line;
  ExprPtr first = is_or ? TRY(parse_logic(false)) : TRY(parse_not());
  const std::string_view word = is_or ? "or" : "and";
  if (!at_name(word)) return first;
  ExprPtr logic = make(is_or ? ExprKind::kOr : ExprKind::kAnd, line);
  add(*logic, std::move(first));
  while (skip_name(word)) {
    ExprPtr next = is_or ? TRY(parse_logic(false)) : TRY(parse_not());
    add(*logic, std::move(next));
  }
  TRY(check_depth(*logic));
  return logic;
}

Result<ExprPtr> Parser::parse_not() {
  if (!at_name("not")) return parse_compare();
  NestingGuard guard(expression_nesting_);
  TRY(check_nesting());
  ExprPtr negation = make(ExprKind::kNot, current().line);
  advance();
  add(*negation, TRY(parse_not()));
  TRY(check_depth(*negation));
  return negation;
}

Result<ExprPtr> Parser::parse_compare() {
  const int line = current().line;
  ExprPtr first = TRY(parse_sum());
  ExprPtr compare;
  while (true) {
    Op op;
    if (const Op* found = find_op(kComparisons, current())) {
      op = *found;
      advance();
    } else if (skip_name("in")) {
      op = Op::kIn;
    } else if (at_name("not") && ahead().kind == TokenKind::kName && ahead().text == "in") {
      op = Op::kNotIn;
      advance();
      advance();
    } else {
      break;
    }
    if (compare == nullptr) {
      compare = make(ExprKind::kCompare, line);
      add(*compare, std::move(first));
    }
    compare->ops.push_back(op);
    add(*compare, TRY(parse_sum()));
  }
  if (compare == nullptr) return first;
  TRY(check_depth(*compare));
  return compare;
}

Result<ExprPtr> Parser::parse_sum() {
  const int line = current().line;
  ExprPtr first = TRY(parse_concat());
  if (find_op(kSums, current()) == nullptr) return first;
  ExprPtr sum = make(ExprKind::kArithmetic, line);
  add(*sum, std::move(first));
  while (const Op* op = find_op(kSums, current())) {
    advance();
    sum->ops.push_back(*op);
    add(*sum, TRY(parse_concat()));
  }
  TRY(check_depth(*sum));
  return sum;
}

Result<ExprPtr> Parser::parse_concat() {
  const int line = current().line;
  ExprPtr first = TRY(parse_product());
  if (!at_operator("~")) return first;
  ExprPtr concat = make(ExprKind::kConcat, line);
  add(*concat, std::move(first));
  while (skip_operator("~")) add(*concat, TRY(parse_product()));
  TRY(check_depth(*concat));
  return concat;
}

Result<ExprPtr> Parser::parse_product() {
  const int line = current().line;
  ExprPtr first = TRY(parse_power());
  if (find_op(kProducts, current()) == nullptr) return first;
  ExprPtr product = make(ExprKind::kArithmetic, line);
  add(*product, std::move(first));
  while (const Op* op = find_op(kProducts, current())) {
    advance();
    product->ops.push_back(*op);
    add(*product, TRY(parse_power()));
  }
  TRY(check_depth(*product));
  return product;
}

// jinja2 reads a ** b ** c from left to right, unlike Python.
Result<ExprPtr> Parser::parse_power() {
  const int line = current().line;
  ExprPtr first = TRY(parse_unary());
  if (!at_operator("**")) return first;
  ExprPtr power = make(ExprKind::kArithmetic, line);
  add(*power, std::move(first));
  while (skip_operator("**")) {
    power->ops.push_back(Op::kPower);
    add(*power, TRY(parse_unary()));
  }
  TRY(check_depth(*power));
  return power;
}

Result<ExprPtr> Parser::parse_unary(bool with_filter) {
  const int line = current().line;
  ExprPtr expr;
  if (at_operator("-") || at_operator("+")) {
    NestingGuard guard(expression_nesting_);
    TRY(check_nesting());
    expr = make(at_operator("-") ? ExprKind::kNegate : ExprKind::kPlus, line);
    advance();
    add(*expr, TRY(parse_unary(false)));
  } else {
    expr = TRY(parse_primary());
  }
  expr = TRY(parse_postfix(std::move(expr)));
  if (with_filter) expr = TRY(parse_filters_and_tests(std::move(expr)));
  return expr;
}

Result<ExprPtr> Parser::parse_primary(bool with_namespace) {
  const Token token = current();
  if (token.kind == TokenKind::kOperator) {
    if (token.text == "[") return parse_list();
    if (token.text == "{") return parse_dict();
    if (token.text != "(") return unexpected();
    advance();
    ExprPtr inner = TRY(parse_tuple(TupleOf::kExpressions, true));
    TRY(expect_operator(")"));
    return inner;
  }
  if (token.kind == TokenKind::kName && !is_constant_word(token.text)) {
    advance();
    const bool is_ref = with_namespace && skip_operator(".");
    ExprPtr name = make(is_ref ? ExprKind::kNamespaceRef : ExprKind::kName, token.line);
    name->name = token.text;
    if (is_ref) name->attribute = TRY(expect_any_name());
    return name;
  }
  ExprPtr constant = make(ExprKind::kConstant, token.line);
  if (token.kind == TokenKind::kName) {
    constant->constant = constant_of(token.text);
    advance();
  } else if (token.kind == TokenKind::kNumber) {
    constant->constant = token.number;
    advance();
  } else if (token.kind == TokenKind::kString) {
    std::string text;
    for (; current().kind == TokenKind::kString; advance()) text += current().text;
    constant->constant = Value::literal(text);
  } else {
    return unexpected();
  }
  return constant;
}

Result<ExprPtr> Parser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      expr = TRY(parse_subscript(std::move(expr)));
    } else if (at_operator("(")) {
      expr = TRY(parse_call(std::move(expr)));
    } else {
      return expr;
    }
    TRY(check_depth(*expr));
  }
}

Result<ExprPtr> Parser::parse_filters_and_tests(ExprPtr expr) {
  while (true) {
    if (skip_operator("|")) {
      expr = TRY(parse_filter(std::move(expr)));
    } else if (at_name("is")) {
      expr = TRY(parse_test(std::move(expr)));
    } else if (at_operator("(")) {
      expr = TRY(parse_call(std::move(expr)));
    } else {
      return expr;
    }
    TRY(check_depth(*expr));
  }
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr expr) {
  const int line = current().line;
  if (skip_operator("[")) return parse_index(std::move(expr), line);
  advance();
  const Token token = current();
  if (token.kind == TokenKind::kName) {
    ExprPtr attribute = make(ExprKind::kAttribute, line);
    attribute->name = token.text;
    add(*attribute, std::move(expr));
    advance();
    return attribute;
  }
  if (token.kind != TokenKind::kNumber || !token.number.is(Kind::kInt)) {
    return fail("expected a name or number after '.'");
  }
  ExprPtr item = make(ExprKind::kItem, line);
  ExprPtr index = make(ExprKind::kConstant, token.line);
  index->constant = token.number;
  add(*item, std::move(expr));
  add(*item, std::move(index));
  advance();
  return item;
}

// What follows '[': an index or start:stop:step.
Result<ExprPtr> Parser::parse_index(ExprPtr object, int line) {
  ExprPtr parts[3];
  size_t colons = 0;
  while (!at_operator("]")) {
    if (skip_operator(":")) {
      if (++colons > 2) return unexpected();
    } else if (at_operator(",")) {
      return refuse("an index of several parts is not supported", line);
    } else if (parts[colons] != nullptr) {
      return unexpected();
    } else {
      parts[colons] = TRY(parse_expression());
    }
  }
  if (colons == 0 && parts[0] == nullptr) return unexpected();
  advance();
  ExprPtr index = make(colons == 0 ? ExprKind::kItem : ExprKind::kSlice, line);
  add(*index, std::move(object));
  for (size_t i = 0; i < (colons == 0 ? 1 : 3); ++i) add(*index, std::move(parts[i]));
  return index;
}

Result<ExprPtr> Parser::parse_call(ExprPtr callee) {
  ExprPtr call = make(ExprKind::kCall, current().line);
  add(*call, std::move(callee));
  TRY(parse_call_args(*call));
  return call;
}

Status Parser::parse_call_args(Expr& call) {
  TRY(expect_operator("("));
  bool first = true;
  while (!at_operator(")")) {
    if (!first) {
      TRY(expect_operator(","));
      if (at_operator(")")) break;
    }
    first = false;
    TRY(parse_call_arg(call));
  }
  return expect_operator(")");
}

Status Parser::parse_call_arg(Expr& call) {
  const Error misplaced = fail("invalid order of arguments in a call");
  const auto grow = [&call](const Expr& part) {
    call.depth = std::max(call.depth, part.depth + 1);
  };
  if (skip_operator("*")) {
    if (call.dyn_args != nullptr || call.dyn_keywords != nullptr) return misplaced;
    call.dyn_args = TRY(parse_expression());
    grow(*call.dyn_args);
    return {};
  }
  if (skip_operator("**")) {
    if (call.dyn_keywords != nullptr) return misplaced;
    call.dyn_keywords = TRY(parse_expression());
    grow(*call.dyn_keywords);
    return {};
  }
  const bool keyword = current().kind == TokenKind::kName && ahead().kind == TokenKind::kOperator &&
                       ahead().text == "=";
  if (keyword) {
    if (call.dyn_keywords != nullptr) return misplaced;
    const std::string name = current().text;
    for (const auto& [other, value] : call.keywords) {
      if (other == name) return fail(fmt::format("argument '{}' is given twice", name));
    }
    advance();
    advance();
    ExprPtr value = TRY(parse_expression());
    grow(*value);
    call.keywords.emplace_back(name, std::move(value));
    return {};
  }
  if (call.dyn_args != nullptr || call.dyn_keywords != nullptr || !call.keywords.empty()) {
    return misplaced;
  }
  add(call, TRY(parse_expression()));
  return {};
}

Result<std::string> Parser::parse_dotted_name() {
  std::string name = TRY(expect_any_name());
  while (skip_operator(".")) name += "." + TRY(expect_any_name());
  return name;
}

// One filter, from its name on. Whether it exists is checked with the names.
Result<ExprPtr> Parser::parse_filter(ExprPtr input) {
  ExprPtr filter = make(ExprKind::kFilter, current().line);
  filter->name = TRY(parse_dotted_name());
  filter->filter = find_filter(filter->name);
  add(*filter, std::move(input));
  if (at_operator("(")) TRY(parse_call_args(*filter));
  TRY(check_depth(*filter));
  return filter;
}

Result<ExprPtr> Parser::parse_test(ExprPtr input) {
  ExprPtr test = make(ExprKind::kTest, current().line);
  advance();
  const bool negated = skip_name("not");
  test->name = TRY(parse_dotted_name());
  test->test = find_test(test->name);
  add(*test, std::move(input));
  const Token& next = current();
  const bool operand = next.kind == TokenKind::kString || next.kind == TokenKind::kNumber ||
                       (next.kind == TokenKind::kName && next.text != "else" && next.text != "or" &&
                        next.text != "and") ||
                       at_operator("[") || at_operator("{");
  if (at_operator("(")) {
    TRY(parse_call_args(*test));
  } else if (operand) {
    if (at_name("is")) return fail("tests cannot be chained with 'is'");
    ExprPtr argument = TRY(parse_primary());
    add(*test, TRY(parse_postfix(std::move(argument))));
  }
  if (!negated) return test;
  ExprPtr negation = make(ExprKind::kNot, test->line);
  add(*negation, std::move(test));
  return negation;
}

Result<ExprPtr> Parser::parse_list() {
  ExprPtr list = make(ExprKind::kList, current().line);
  advance();
  while (!at_operator("]")) {
    if (!list->items.empty()) {
      TRY(expect_operator(","));
      if (at_operator("]")) break;
    }
    add(*list, TRY(parse_expression()));
  }
  advance();
  return list;
}

Result<ExprPtr> Parser::parse_dict() {
  ExprPtr dict = make(ExprKind::kDict, current().line);
  advance();
  while (!at_operator("}")) {
    if (!dict->items.empty()) {
      TRY(expect_operator(","));
      if (at_operator("}")) break;
    }
    add(*dict, TRY(parse_expression()));
    TRY(expect_operator(":"));
    add(*dict, TRY(parse_expression()));
  }
  advance();
  return dict;
}

// One expression, or several with commas between them as a tuple.
Result<ExprPtr> Parser::parse_tuple(TupleOf parts, bool parentheses) {
  ExprPtr tuple = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    const bool at_end = current().kind == TokenKind::kVariableEnd ||
                        current().kind == TokenKind::kBlockEnd || at_operator(")");
    if (at_end) break;
    const bool target = parts == TupleOf::kTargets || parts == TupleOf::kNamespaceTargets;
    add(*tuple, target ? TRY(parse_primary(parts == TupleOf::kNamespaceTargets))
                       : TRY(parse_expression(parts == TupleOf::kExpressions)));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) return std::move(tuple->items[0]);
  if (tuple->items.empty() && !parentheses) return unexpected();
  TRY(check_depth(*tuple));
  return tuple;
}

Result<ExprPtr> Parser::parse_target(bool with_namespace) {
  const TupleOf parts = with_namespace ? TupleOf::kNamespaceTargets : TupleOf::kTargets;
  ExprPtr target = TRY(parse_tuple(parts, false));
  TRY(check_target(*target));
  return target;
}

Status Parser::check_target(const Expr& target) const {
  if (target.kind == ExprKind::kName || target.kind == ExprKind::kNamespaceRef) return {};
  if (target.kind != ExprKind::kTuple) return fail("cannot assign to this", target.line);
  for (const ExprPtr& item : target.items) TRY(check_target(*item));
  return {};
}

Result<std::string> Parser::parse_target_name() {
  if (current().kind == TokenKind::kName && is_constant_word(current().text)) {
    return fail(fmt::format("cannot assign to '{}'", current().text));
  }
  return expect_any_name();
}

}  // namespace moe::text::jinja
