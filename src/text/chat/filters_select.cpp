// Filters that apply other filters and tests, and those that pick attributes or defaults.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/sequences.hpp"

namespace moe::text::jinja {
namespace {

int depth_of(const Value& input, const Args& args) {
  int deepest = input.depth();
  for (const Value& value : args.positional) deepest = std::max(deepest, value.depth());
  for (const auto& [name, value] : args.keyword) deepest = std::max(deepest, value.depth());
  return deepest;
}

Result<Value> empty_generator(Interp& interp) {
  return interp.make_object(
      std::make_shared<Generator>([](Interp&) { return Result<Value>(Value()); }, 0));
}

Result<Value> map_attribute(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'map'", args, {"attribute", "default"}, 1));
  const AttributePath path = TRY(AttributePath::parse(bound[0], false, bound[1]));
  const auto cursor = TRY(interp.iterate(input));
  return interp.make_object(std::make_shared<Generator>(
      [path, cursor](Interp& inner) -> Result<Value> {
        const Value item = TRY(cursor->next(inner));
        if (item.is(Kind::kMissing)) return item;
        TRY(inner.charge_step());
        return path.get(inner, item);
      },
      std::max(input.depth(), bound[1].depth())));
}

Result<Value> filter_map(Interp& interp, const Value& input, Args& args) {
  // As in jinja2, nothing is looked at before there is something to map.
  if (!input.truthy()) return empty_generator(interp);
  const bool by_attribute =
      args.positional.empty() &&
      std::any_of(args.keyword.begin(), args.keyword.end(),
                  [](const auto& keyword) { return keyword.first == "attribute"; });
  if (by_attribute) return map_attribute(interp, input, args);
  if (args.positional.empty()) return invalid_argument("filter 'map' lacks the name of a filter");
  if (!args.positional[0].is_text()) {
    return type_error("filter 'map'", args.positional[0], "the name of a filter");
  }
  const int depth = depth_of(input, args);
  const std::string name = args.positional[0].bytes();
  args.positional.erase(args.positional.begin());
  const auto cursor = TRY(interp.iterate(input));
  return interp.make_object(std::make_shared<Generator>(
      [name, rest = args, cursor](Interp& inner) -> Result<Value> {
        const Value item = TRY(cursor->next(inner));
        if (item.is(Kind::kMissing)) return item;
        TRY(inner.charge_step());
        Args call_args = rest;
        return inner.call_filter(name, item, call_args);
      },
      depth + 1));
}

// select, reject, selectattr, rejectattr.
Result<Value> select(Interp& interp, const Value& input, Args& args, std::string_view filter,
                     bool keep, bool by_attribute) {
  if (!input.truthy()) return empty_generator(interp);
  const int depth = depth_of(input, args);
  AttributePath path;
  if (by_attribute) {
    if (args.positional.empty()) {
      return invalid_argument(fmt::format("filter '{}' lacks the name of an attribute", filter));
    }
    path = TRY(AttributePath::parse(args.positional[0], false));
    args.positional.erase(args.positional.begin());
  }
  std::string test;
  if (!args.positional.empty()) {
    if (!args.positional[0].is_text()) {
      return type_error(fmt::format("filter '{}'", filter), args.positional[0],
                        "the name of a test");
    }
    test = args.positional[0].bytes();
    args.positional.erase(args.positional.begin());
  }
  const auto cursor = TRY(interp.iterate(input));
  return interp.make_object(std::make_shared<Generator>(
      [path, test, rest = args, cursor, keep](Interp& inner) -> Result<Value> {
        while (true) {
          Value item = TRY(cursor->next(inner));
          if (item.is(Kind::kMissing)) return item;
          TRY(inner.charge_step());
          const Value tested = TRY(path.get(inner, item));
          Args call_args = rest;
          const bool passes =
              test.empty() ? tested.truthy() : TRY(inner.call_test(test, tested, call_args));
          if (passes == keep) return item;
        }
      },
      depth));
}

Result<Value> filter_select(Interp& interp, const Value& input, Args& args) {
  return select(interp, input, args, "select", true, false);
}
Result<Value> filter_reject(Interp& interp, const Value& input, Args& args) {
  return select(interp, input, args, "reject", false, false);
}
Result<Value> filter_selectattr(Interp& interp, const Value& input, Args& args) {
  return select(interp, input, args, "selectattr", true, true);
}
Result<Value> filter_rejectattr(Interp& interp, const Value& input, Args& args) {
  return select(interp, input, args, "rejectattr", false, true);
}

Result<Value> filter_default(Interp&, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'default'", args, {"default_value", "boolean"}, 0));
  const bool replace = input.is(Kind::kUndefined) || (bound[1].truthy() && !input.truthy());
  if (!replace) return input;
  return bound[0].is(Kind::kMissing) ? Value::literal("") : bound[0];
}

// As obj.name, but without a look at items.
Result<Value> filter_attr(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'attr'", args, {"name"}, 1));
  const Text& name = *TRY(text_arg("filter 'attr'", bound[0]));
  if (input.is(Kind::kDict) && input.as_dict().find(name.bytes) != nullptr &&
      find_dict_method(name.bytes) == nullptr) {
    return Value::undefined(fmt::format("'dict' object has no attribute '{}'", name.bytes));
  }
  return interp.attribute(input, name.bytes);
}

constexpr Filter kFilters[] = {
    {"attr", filter_attr},       {"d", filter_default},
    {"default", filter_default}, {"map", filter_map},
    {"reject", filter_reject},   {"rejectattr", filter_rejectattr},
    {"select", filter_select},   {"selectattr", filter_selectattr},
};

}  // namespace

std::span<const Filter> select_filters() { return kFilters; }

}  // namespace moe::text::jinja
