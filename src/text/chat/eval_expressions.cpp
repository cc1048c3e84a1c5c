#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/depth_guard.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {

Result<Value> Interp::evaluate(const Expr& expr) {
  // Leaves need no room on the stack worth counting.
  if (expr.kind == ExprKind::kConstant) return expr.constant;
  if (expr.kind == ExprKind::kName) return evaluate_name(expr);
  DepthGuard guard(depth_);
  if (depth_ > limits_.eval_depth) {
    line_ = expr.line;
    return unsupported(fmt::format("evaluation is nested deeper than {}", limits_.eval_depth),
                       "send arguments and tools that are nested less deeply");
  }
  return evaluate_node(expr);
}

Result<Value> Interp::evaluate_node(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return evaluate_name(expr);
    case ExprKind::kList:
      return make_list(TRY(evaluate_items(expr, 0)));
    case ExprKind::kTuple:
      return make_tuple(TRY(evaluate_items(expr, 0)));
    case ExprKind::kDict:
      return evaluate_dict(expr);
    case ExprKind::kAttribute: {
      const Value object = TRY(evaluate(*expr.items[0]));
      line_ = expr.line;
      return attribute(object, expr.name);
    }
    case ExprKind::kItem: {
      const Value object = TRY(evaluate(*expr.items[0]));
      const Value key = TRY(evaluate(*expr.items[1]));
      line_ = expr.line;
      return item(object, key);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr);
    case ExprKind::kCall:
      return evaluate_call(expr);
    case ExprKind::kFilter:
      return evaluate_filter(expr, nullptr);
    case ExprKind::kTest:
      return evaluate_test(expr);
    case ExprKind::kNot:
      return Value::boolean(!TRY(evaluate(*expr.items[0])).truthy());
    case ExprKind::kNegate:
    case ExprKind::kPlus: {
      const Value operand = TRY(evaluate(*expr.items[0]));
      line_ = expr.line;
      return negate(operand, expr.kind == ExprKind::kNegate);
    }
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return evaluate_logic(expr);
    case ExprKind::kCompare:
      return evaluate_compare(expr);
    case ExprKind::kArithmetic:
      return evaluate_arithmetic(expr);
    case ExprKind::kConcat:
      return evaluate_concat(expr);
    case ExprKind::kConditional:
      return evaluate_conditional(expr);
    case ExprKind::kNamespaceRef:
      break;  // only a target of assignments
  }
  return internal_error("an assignment target was evaluated");
}

Result<Value> Interp::evaluate_name(const Expr& expr) {
  const Value& value = slot(expr.ref);
  if (!value.is(Kind::kMissing)) return value;
  return Value::undefined(fmt::format("'{}' is undefined", expr.name));
}

Result<std::vector<Value>> Interp::evaluate_items(const Expr& expr, size_t first) {
  std::vector<Value> values;
  values.reserve(expr.items.size() - first);
  for (size_t i = first; i < expr.items.size(); ++i) {
    values.push_back(TRY(evaluate(*expr.items[i])));
  }
  line_ = expr.line;
  return values;
}

Result<Value> Interp::evaluate_dict(const Expr& expr) {
  Dict dict;
  for (size_t i = 0; i < expr.items.size(); i += 2) {
    const Value key = TRY(evaluate(*expr.items[i]));
    Value value = TRY(evaluate(*expr.items[i + 1]));
    line_ = expr.line;
    if (!dict.set(key, std::move(value))) {
      return type_error("key of a dict", key, "a hashable type");
    }
  }
  return make_dict(std::move(dict));
}

Result<Value> Interp::evaluate_slice(const Expr& expr) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    if (expr.items[i] != nullptr) parts[i] = TRY(evaluate(*expr.items[i]));
  }
  line_ = expr.line;
  return slice(*this, parts[0], parts[1], parts[2], parts[3]);
}

Result<Args> Interp::evaluate_args(const Expr& expr) {
  Args args;
  args.positional = TRY(evaluate_items(expr, 1));
  for (const auto& [name, value] : expr.keywords) {
    args.keyword.emplace_back(name, TRY(evaluate(*value)));
  }
  if (expr.dyn_args != nullptr) {
    const Value more = TRY(evaluate(*expr.dyn_args));
    for (Value& item : TRY(collect(more))) {
      args.positional.push_back(std::move(item));
    }
  }
  if (expr.dyn_keywords != nullptr) {
    const Value more = TRY(evaluate(*expr.dyn_keywords));
    if (!more.is(Kind::kDict)) return type_error("argument after **", more, "dict");
    for (const auto& [key, value] : more.as_dict().entries) {
      if (!key.is_text()) return type_error("keyword", key, "str");
      args.keyword.emplace_back(key.bytes(), value);
    }
  }
  line_ = expr.line;
  return args;
}

Result<Value> Interp::evaluate_call(const Expr& expr) {
  const Value callee = TRY(evaluate(*expr.items[0]));
  Args args = TRY(evaluate_args(expr));
  line_ = expr.line;
  return call(callee, args);
}

Result<Value> Interp::evaluate_filter(const Expr& expr, const Value* block_input) {
  Value input;
  if (expr.items[0] == nullptr) {
    input = *block_input;
  } else if (block_input != nullptr && expr.items[0]->kind == ExprKind::kFilter) {
    input = TRY(evaluate_filter(*expr.items[0], block_input));
  } else {
    input = TRY(evaluate(*expr.items[0]));
  }
  Args args = TRY(evaluate_args(expr));
  line_ = expr.line;
  if (expr.filter == nullptr)
    return invalid_argument(fmt::format("no filter named '{}'", expr.name));
  return expr.filter->run(*this, input, args);
}

Result<Value> Interp::evaluate_test(const Expr& expr) {
  const Value input = TRY(evaluate(*expr.items[0]));
  Args args = TRY(evaluate_args(expr));
  line_ = expr.line;
  if (expr.test == nullptr) return invalid_argument(fmt::format("no test named '{}'", expr.name));
  return Value::boolean(TRY(expr.test->run(*this, input, args)));
}

Result<Value> Interp::evaluate_logic(const Expr& expr) {
  const bool is_or = expr.kind == ExprKind::kOr;
  for (size_t i = 0; i + 1 < expr.items.size(); ++i) {
    Value value = TRY(evaluate(*expr.items[i]));
    if (value.truthy() == is_or) return value;
  }
  return evaluate(*expr.items.back());
}

Result<Value> Interp::evaluate_compare(const Expr& expr) {
  Value left = TRY(evaluate(*expr.items[0]));
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = TRY(evaluate(*expr.items[i + 1]));
    line_ = expr.line;
    if (!TRY(compare(*this, expr.ops[i], left, right))) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interp::evaluate_arithmetic(const Expr& expr) {
  Value left = TRY(evaluate(*expr.items[0]));
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    const Value right = TRY(evaluate(*expr.items[i + 1]));
    line_ = expr.line;
    left = TRY(arithmetic(*this, expr.ops[i], left, right));
  }
  return left;
}

Result<Value> Interp::evaluate_concat(const Expr& expr) {
  TextBuilder out = text_builder();
  for (const ExprPtr& part : expr.items) {
    const Value value = TRY(evaluate(*part));
    line_ = expr.line;
    TRY(append_str(out, value));
  }
  return make_text(std::move(out));
}

Result<Value> Interp::evaluate_conditional(const Expr& expr) {
  if (TRY(evaluate(*expr.items[1])).truthy()) return evaluate(*expr.items[0]);
  if (expr.items[2] != nullptr) return evaluate(*expr.items[2]);
  return Value::undefined("the inline if-expression is false and has no else part");
}

}  // namespace moe::text::jinja
