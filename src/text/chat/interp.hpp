// One rendering: the counters of its limits, makers of values that respect them, and evaluation of
// the syntax tree. Built-in functions get it as their first argument. Used once, by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/ast.hpp"
#include "text/chat/limits.hpp"
#include "text/chat/value.hpp"

namespace moe::text::jinja {

class Namespace;

using Clock = std::function<std::chrono::system_clock::time_point()>;

// Variables of one running function.
struct Activation {
  std::vector<Value> slots;
  Activation* parent = nullptr;  // of the function in which this one was defined
  bool captured = false;         // a macro defined here may outlive the call
};

class Interp {
 public:
  Interp(const Limits& limits, const Clock& clock, const Dict& context);
  ~Interp();
  Interp(const Interp&) = delete;
  Interp& operator=(const Interp&) = delete;

  Result<Text> render(const Function& root);

  const Limits& limits() const { return limits_; }
  std::chrono::system_clock::time_point now() const { return clock_(); }
  int line() const { return line_; }

  // Makers of values. Errors: a limit was passed.
  TextBuilder text_builder() const { return TextBuilder(limits_.text_bytes); }
  Result<Value> make_text(TextBuilder&& builder);
  Result<Value> make_list(std::vector<Value> items) { return make_items(std::move(items), false); }
  Result<Value> make_tuple(std::vector<Value> items) { return make_items(std::move(items), true); }
  Result<Value> make_dict(Dict dict);
  Result<Value> make_object(std::shared_ptr<Object> object);
  std::shared_ptr<Namespace> make_namespace();
  Status charge_bytes(size_t bytes);
  Status charge_step();

  // Any value as a cursor over its items; error when it cannot be iterated.
  Result<std::shared_ptr<Cursor>> iterate(const Value& value);
  // All items of an iterable.
  Result<std::vector<Value>> collect(const Value& value);

  // obj.name and obj[key] of the template language.
  Result<Value> attribute(const Value& object, std::string_view name);
  Result<Value> item(const Value& object, const Value& key);

  Result<Value> call(const Value& callee, Args& args);
  Result<Value> call_function(const Function& function, Activation* home, Args& args);
  Result<Value> call_filter(std::string_view name, const Value& input, Args& args);
  Result<bool> call_test(std::string_view name, const Value& input, Args& args);

  // For the cursor of a loop's `if`.
  Result<Value> evaluate(const Expr& expr);
  Status assign(const Expr& target, const Value& value);
  Result<Value> target_value(const Expr& target);
  void enter(const ScopeFrame& frame);

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  struct DepthGuard;

  Result<Value> make_items(std::vector<Value> items, bool tuple);
  void leave(const ScopeFrame& frame);
  Value& slot(Ref ref);

  Result<Flow> run_body(const std::vector<Stmt>& body);
  Result<Flow> run(const Stmt& stmt);
  Result<Flow> run_if(const Stmt& stmt);
  Result<Flow> run_for(const Stmt& stmt);
  Result<Flow> run_for_items(const Stmt& stmt, const std::shared_ptr<Cursor>& cursor,
                             const Value& iterable, bool& any);
  Result<Flow> run_set(const Stmt& stmt);
  Result<Flow> run_set_block(const Stmt& stmt);
  Result<Flow> run_macro(const Stmt& stmt);
  Result<Flow> run_call_block(const Stmt& stmt);
  Result<Flow> run_generation(const Stmt& stmt);
  Result<Flow> run_filter_block(const Stmt& stmt);
  Result<Flow> run_with(const Stmt& stmt);
  Status write(const Value& value);

  // Runs `body` with its output caught; the flow is the body's.
  Result<Value> capture(const std::vector<Stmt>& body, Flow& flow);
  Status bind_parameters(const Function& function, Args& args);
  Status bind_keywords(const Function& function, Args& args, size_t used, bool caller_given);

  Result<Value> evaluate_node(const Expr& expr);
  Result<Value> evaluate_name(const Expr& expr);
  Result<std::vector<Value>> evaluate_items(const Expr& expr, size_t first);
  Result<Value> evaluate_dict(const Expr& expr);
  Result<Value> evaluate_slice(const Expr& expr);
  Result<Value> evaluate_call(const Expr& expr);
  Result<Value> evaluate_filter(const Expr& expr, const Value* block_input);
  Result<Value> evaluate_test(const Expr& expr);
  Result<Value> evaluate_logic(const Expr& expr);
  Result<Value> evaluate_compare(const Expr& expr);
  Result<Value> evaluate_arithmetic(const Expr& expr);
  Result<Value> evaluate_concat(const Expr& expr);
  Result<Value> evaluate_conditional(const Expr& expr);
  Result<Args> evaluate_args(const Expr& expr);

  const Limits& limits_;
  const Clock& clock_;
  const Dict& context_;
  size_t work_bytes_ = 0;
  size_t loop_steps_ = 0;
  int depth_ = 0;
  int line_ = 0;
  TextBuilder* output_ = nullptr;
  Activation* activation_ = nullptr;
  std::vector<std::unique_ptr<Activation>> kept_activations_;
  // Namespaces are the only values that can form cycles; emptied at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

}  // namespace moe::text::jinja
