#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/depth_guard.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {
namespace {

// The items of a loop that pass its `if`, tested when they are asked for.
class FilteredCursor : public Cursor {
 public:
  FilteredCursor(const Stmt& loop, std::shared_ptr<Cursor> source)
      : loop_(loop), source_(std::move(source)) {}

  Result<Value> next(Interp& interp) override {
    while (true) {
      Value item = TRY(source_->next(interp));
      if (item.is(Kind::kMissing)) return item;
      TRY(interp.charge_step());
      TRY(interp.assign(*loop_.items[0], item));
      if (!TRY(interp.evaluate(*loop_.test)).truthy()) continue;
      // jinja2 packs several targets anew, so that loop.previtem is a tuple.
      if (loop_.items[0]->kind == ExprKind::kTuple) return interp.target_value(*loop_.items[0]);
      return item;
    }
  }

 private:
  const Stmt& loop_;
  std::shared_ptr<Cursor> source_;
};

}  // namespace

Result<Text> Interp::render(const Function& root) {
  Activation frame;
  frame.slots.resize(static_cast<size_t>(root.slot_count));
  TextBuilder out = text_builder();
  activation_ = &frame;
  output_ = &out;
  enter(root.frame);
  TRY(run_body(root.body));
  // Through make_text for its check of the limit.
  const Value text = TRY(make_text(std::move(out)));
  return text.as_text();
}

Value& Interp::slot(Ref ref) {
  Activation* frame = activation_;
  for (int hop = 0; hop < ref.hops; ++hop) frame = frame->parent;
  return frame->slots[static_cast<size_t>(ref.slot)];
}

void Interp::enter(const ScopeFrame& frame) {
  for (const ScopeLoad& load : frame.loads) {
    Value value;
    if (load.action == ScopeLoad::Action::kAlias) {
      value = slot(load.source);
    } else if (load.action == ScopeLoad::Action::kContext) {
      const Value* found = context_.find(load.name);
      value = found != nullptr ? *found : global_value(load.name);
    }
    activation_->slots[static_cast<size_t>(load.slot)] = std::move(value);
  }
}

void Interp::leave(const ScopeFrame& frame) {
  for (int index : frame.slots) activation_->slots[static_cast<size_t>(index)] = Value();
}

Status Interp::write(const Value& value) {
  TRY(append_str(*output_, value));
  if (!output_->overflowed()) return {};
  return unsupported(fmt::format("the output gets longer than {} bytes", output_->limit_bytes()),
                     "send fewer or shorter messages");
}

Result<Interp::Flow> Interp::run_body(const std::vector<Stmt>& body) {
  DepthGuard guard(depth_);
  if (depth_ > limits_.eval_depth) {
    return unsupported(fmt::format("evaluation is nested deeper than {}", limits_.eval_depth),
                       "send arguments and tools that are nested less deeply");
  }
  for (const Stmt& stmt : body) {
    const Flow flow = TRY(run(stmt));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run(const Stmt& stmt) {
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::kData:
      TRY(write(stmt.data));
      return Flow::kNormal;
    case StmtKind::kOutput: {
      const Value value = TRY(evaluate(*stmt.expr));
      line_ = stmt.line;
      TRY(write(value));
      return Flow::kNormal;
    }
    case StmtKind::kIf:
      return run_if(stmt);
    case StmtKind::kFor:
      return run_for(stmt);
    case StmtKind::kSet:
      return run_set(stmt);
    case StmtKind::kSetBlock:
      return run_set_block(stmt);
    case StmtKind::kMacro:
      return run_macro(stmt);
    case StmtKind::kCallBlock:
      return run_call_block(stmt);
    case StmtKind::kGeneration:
      return run_generation(stmt);
    case StmtKind::kFilterBlock:
      return run_filter_block(stmt);
    case StmtKind::kWith:
      return run_with(stmt);
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return internal_error("unknown statement");
}

Result<Interp::Flow> Interp::run_if(const Stmt& stmt) {
  for (const Stmt::Branch& branch : stmt.branches) {
    if (branch.test == nullptr || TRY(evaluate(*branch.test)).truthy()) {
      return run_body(branch.body);
    }
  }
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_for(const Stmt& stmt) {
  Value iterable = TRY(evaluate(*stmt.expr));
  line_ = stmt.line;
  std::shared_ptr<Cursor> cursor = TRY(iterate(iterable));
  if (stmt.test != nullptr) {
    enter(stmt.test_frame);
    cursor = std::make_shared<FilteredCursor>(stmt, std::move(cursor));
    // Its length is not known before it has run.
    iterable = Value::object(std::make_shared<Generator>(nullptr, iterable.depth()));
  }
  bool any = false;
  Flow flow = TRY(run_for_items(stmt, cursor, iterable, any));
  leave(stmt.frame);
  if (flow != Flow::kNormal || any || stmt.orelse.empty()) return Flow::kNormal;
  enter(stmt.orelse_frame);
  flow = TRY(run_body(stmt.orelse));
  leave(stmt.orelse_frame);
  return flow;
}

// `any`: an iteration ran to its end, which is what keeps the else part from running.
Result<Interp::Flow> Interp::run_for_items(const Stmt& stmt, const std::shared_ptr<Cursor>& cursor,
                                           const Value& iterable, bool& any) {
  std::shared_ptr<LoopContext> loop;
  Value loop_value;
  if (stmt.loop_slot >= 0) {
    loop = std::make_shared<LoopContext>(cursor, iterable);
    loop_value = TRY(make_object(loop));
  }
  struct Finish {
    LoopContext* loop;
    ~Finish() {
      if (loop != nullptr) loop->finish();
    }
  } finish{loop.get()};
  while (true) {
    Value item = loop != nullptr ? TRY(loop->advance(*this)) : TRY(cursor->next(*this));
    if (item.is(Kind::kMissing)) return Flow::kNormal;
    if (loop == nullptr) TRY(charge_step());
    line_ = stmt.line;
    if (loop != nullptr) activation_->slots[static_cast<size_t>(stmt.loop_slot)] = loop_value;
    TRY(assign(*stmt.target, item));
    enter(stmt.frame);
    const Flow flow = TRY(run_body(stmt.body));
    if (flow == Flow::kBreak) return Flow::kNormal;
    if (flow == Flow::kNormal) any = true;
  }
}

Status Interp::assign(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::kName) {
    slot(target.ref) = value;
    return {};
  }
  if (target.kind == ExprKind::kNamespaceRef) {
    auto* space = slot(target.ref).object_as<Namespace>();
    if (space == nullptr) {
      return invalid_argument(
          fmt::format("cannot assign an attribute of '{}': it is no namespace", target.name));
    }
    space->set(target.attribute, value);
    return {};
  }
  const std::vector<Value> items = TRY(collect(value));
  if (items.size() != target.items.size()) {
    return invalid_argument(
        fmt::format("cannot unpack {} values into {} names", items.size(), target.items.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) TRY(assign(*target.items[i], items[i]));
  return {};
}

Result<Value> Interp::target_value(const Expr& target) {
  if (target.kind != ExprKind::kTuple) return slot(target.ref);
  std::vector<Value> values;
  for (const ExprPtr& item : target.items) values.push_back(TRY(target_value(*item)));
  return make_tuple(std::move(values));
}

Result<Interp::Flow> Interp::run_set(const Stmt& stmt) {
  if (stmt.target->kind == ExprKind::kNamespaceRef &&
      slot(stmt.target->ref).object_as<Namespace>() == nullptr) {
    return invalid_argument(
        fmt::format("cannot assign an attribute of '{}': it is no namespace", stmt.target->name));
  }
  const Value value = TRY(evaluate(*stmt.expr));
  line_ = stmt.line;
  TRY(assign(*stmt.target, value));
  return Flow::kNormal;
}

Result<Value> Interp::capture(const std::vector<Stmt>& body, Flow& flow) {
  TextBuilder* outer = output_;
  TextBuilder out = text_builder();
  output_ = &out;
  auto result = run_body(body);
  output_ = outer;
  flow = TRY(std::move(result));
  return make_text(std::move(out));
}

Result<Interp::Flow> Interp::run_set_block(const Stmt& stmt) {
  enter(stmt.frame);
  Flow flow = Flow::kNormal;
  Value text = TRY(capture(stmt.body, flow));
  if (flow != Flow::kNormal) return flow;
  if (stmt.expr != nullptr) text = TRY(evaluate_filter(*stmt.expr, &text));
  line_ = stmt.line;
  TRY(assign(*stmt.target, text));
  leave(stmt.frame);
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_macro(const Stmt& stmt) {
  activation_->captured = true;
  const Value macro = TRY(make_object(std::make_shared<Macro>(*stmt.function, activation_)));
  TRY(assign(*stmt.target, macro));
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_call_block(const Stmt& stmt) {
  activation_->captured = true;
  const Value caller = TRY(make_object(std::make_shared<Macro>(*stmt.function, activation_)));
  const Value callee = TRY(evaluate(*stmt.expr->items[0]));
  Args args = TRY(evaluate_args(*stmt.expr));
  args.keyword.emplace_back("caller", caller);
  line_ = stmt.line;
  const Value text = TRY(call(callee, args));
  TRY(write(text));
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_generation(const Stmt& stmt) {
  Args none;
  const Value text = TRY(call_function(*stmt.function, activation_, none));
  TRY(write(text));
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_filter_block(const Stmt& stmt) {
  enter(stmt.frame);
  Flow flow = Flow::kNormal;
  const Value text = TRY(capture(stmt.body, flow));
  if (flow != Flow::kNormal) return flow;
  const Value filtered = TRY(evaluate_filter(*stmt.expr, &text));
  TRY(write(filtered));
  leave(stmt.frame);
  return Flow::kNormal;
}

Result<Interp::Flow> Interp::run_with(const Stmt& stmt) {
  enter(stmt.frame);
  for (size_t i = 0; i < stmt.items.size(); i += 2) {
    const Value value = TRY(evaluate(*stmt.items[i + 1]));
    TRY(assign(*stmt.items[i], value));
  }
  const Flow flow = TRY(run_body(stmt.body));
  leave(stmt.frame);
  return flow;
}

}  // namespace moe::text::jinja
