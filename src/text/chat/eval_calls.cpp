#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/depth_guard.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"

namespace moe::text::jinja {

Result<Value> Interp::call(const Value& callee, Args& args) {
  if (callee.is(Kind::kUndefined)) return undefined_error(callee);
  if (!callee.is(Kind::kObject)) {
    return invalid_argument(fmt::format("'{}' object is not callable", callee.type_name()));
  }
  DepthGuard guard(depth_);
  if (depth_ > limits_.eval_depth) {
    return unsupported(fmt::format("evaluation is nested deeper than {}", limits_.eval_depth),
                       "send arguments and tools that are nested less deeply");
  }
  return callee.as_object().call(*this, args);
}

Result<Value> Interp::call_filter(std::string_view name, const Value& input, Args& args) {
  const Filter* filter = find_filter(name);
  if (filter == nullptr) return invalid_argument(fmt::format("no filter named '{}'", name));
  DepthGuard guard(depth_);
  if (depth_ > limits_.eval_depth) {
    return unsupported(fmt::format("evaluation is nested deeper than {}", limits_.eval_depth));
  }
  return filter->run(*this, input, args);
}

Result<bool> Interp::call_test(std::string_view name, const Value& input, Args& args) {
  const Test* test = find_test(name);
  if (test == nullptr) return invalid_argument(fmt::format("no test named '{}'", name));
  return test->run(*this, input, args);
}

Result<Value> Interp::call_function(const Function& function, Activation* home, Args& args) {
  auto frame = std::make_unique<Activation>();
  TRY(charge_bytes(sizeof(Activation) + sizeof(Value) * static_cast<size_t>(function.slot_count)));
  frame->slots.resize(static_cast<size_t>(function.slot_count));
  frame->parent = home;

  Activation* caller_frame = activation_;
  TextBuilder* caller_output = output_;
  const int caller_line = line_;
  TextBuilder out = text_builder();
  activation_ = frame.get();
  output_ = &out;
  Status done = bind_parameters(function, args);
  if (done.ok()) {
    auto flow = run_body(function.body);
    if (!flow.ok()) done = std::move(flow).error();
  }
  activation_ = caller_frame;
  output_ = caller_output;
  if (frame->captured) kept_activations_.push_back(std::move(frame));
  if (!done.ok()) return std::move(done).error();
  line_ = caller_line;
  return make_text(std::move(out));
}

// Fills the slots of the running function from the arguments, as jinja2's Macro does.
Status Interp::bind_parameters(const Function& function, Args& args) {
  auto& slots = activation_->slots;
  const size_t expected = function.parameters.size();
  const size_t used = std::min(expected, args.positional.size());
  enter(function.frame);
  for (size_t i = 0; i < used; ++i) {
    slots[static_cast<size_t>(function.parameter_slots[i])] = std::move(args.positional[i]);
  }
  bool caller_given = used == expected && function.explicit_caller;
  for (size_t i = used; i < expected; ++i) {
    const std::string& name = function.parameters[i];
    caller_given = caller_given || name == "caller";
    const auto at = std::find_if(args.keyword.begin(), args.keyword.end(),
                                 [&](const auto& keyword) { return keyword.first == name; });
    if (at == args.keyword.end()) continue;
    slots[static_cast<size_t>(function.parameter_slots[i])] = std::move(at->second);
    args.keyword.erase(at);
  }
  TRY(bind_keywords(function, args, used, caller_given));
  const size_t without_default = expected - function.defaults.size();
  for (size_t i = 0; i < expected; ++i) {
    const auto slot_index = static_cast<size_t>(function.parameter_slots[i]);
    if (!slots[slot_index].is(Kind::kMissing)) continue;
    if (i < without_default) {
      slots[slot_index] =
          Value::undefined(fmt::format("parameter '{}' was not provided", function.parameters[i]));
    } else {
      slots[slot_index] = TRY(evaluate(*function.defaults[i - without_default]));
    }
  }
  return {};
}

// The special variables caller, kwargs and varargs, and what is left over.
Status Interp::bind_keywords(const Function& function, Args& args, size_t used, bool caller_given) {
  auto& slots = activation_->slots;
  if (function.caller_slot >= 0 && !caller_given) {
    Value caller = Value::undefined("no caller defined");
    const auto at = std::find_if(args.keyword.begin(), args.keyword.end(),
                                 [](const auto& keyword) { return keyword.first == "caller"; });
    if (at != args.keyword.end()) {
      caller = std::move(at->second);
      args.keyword.erase(at);
    }
    slots[static_cast<size_t>(function.caller_slot)] = std::move(caller);
  }
  const std::string name = function.name.empty() ? "call block" : "macro '" + function.name + "'";
  if (function.kwargs_slot >= 0) {
    Dict rest;
    for (auto& [key, value] : args.keyword) rest.set(Value::literal(key), std::move(value));
    slots[static_cast<size_t>(function.kwargs_slot)] = TRY(make_dict(std::move(rest)));
  } else if (!args.keyword.empty()) {
    return invalid_argument(
        fmt::format("{} takes no keyword argument '{}'", name, args.keyword.front().first));
  }
  if (function.varargs_slot >= 0) {
    std::vector<Value> rest(args.positional.begin() + static_cast<std::ptrdiff_t>(used),
                            args.positional.end());
    slots[static_cast<size_t>(function.varargs_slot)] = TRY(make_tuple(std::move(rest)));
  } else if (args.positional.size() > function.parameters.size()) {
    return invalid_argument(fmt::format("{} takes not more than {} arguments, got {}", name,
                                        function.parameters.size(), args.positional.size()));
  }
  return {};
}

}  // namespace moe::text::jinja
