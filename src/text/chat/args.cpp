#include "text/chat/args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"

namespace moe::text::jinja {

Result<std::vector<Value>> bind_args(std::string_view what, Args& args,
                                     std::initializer_list<std::string_view> names,
                                     size_t required) {
  if (args.positional.size() > names.size()) {
    return invalid_argument(fmt::format("{} takes at most {} arguments, got {}", what, names.size(),
                                        args.positional.size()));
  }
  std::vector<Value> bound = args.positional;
  bound.resize(names.size());
  for (const auto& [name, value] : args.keyword) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      return invalid_argument(fmt::format("{} has no argument '{}'", what, name));
    }
    Value& target = bound[static_cast<size_t>(at - names.begin())];
    if (!target.is(Kind::kMissing)) {
      return invalid_argument(fmt::format("{} got two values for argument '{}'", what, name));
    }
    target = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (bound[i].is(Kind::kMissing)) {
      return invalid_argument(fmt::format("{} lacks its argument '{}'", what, names.begin()[i]));
    }
  }
  return bound;
}

Status positional_only(std::string_view what, const Args& args, size_t least, size_t most) {
  if (!args.keyword.empty()) {
    return invalid_argument(
        fmt::format("{} has no argument '{}'", what, args.keyword.front().first));
  }
  const size_t count = args.positional.size();
  if (count < least || count > most) {
    return invalid_argument(
        fmt::format("{} takes {} to {} arguments, got {}", what, least, most, count));
  }
  return {};
}

Result<int64_t> int_arg(std::string_view what, const Value& value, int64_t otherwise) {
  if (value.is(Kind::kMissing)) return otherwise;
  if (value.is(Kind::kUndefined)) return undefined_error(value);
  if (!value.is_integral()) return type_error(what, value, "int");
  return value.as_int();
}

Result<const Text*> text_arg(std::string_view what, const Value& value) {
  if (value.is(Kind::kUndefined)) return undefined_error(value);
  if (!value.is_text()) return type_error(what, value, "str");
  return &value.as_text();
}

Error type_error(std::string_view what, const Value& got, std::string_view wanted) {
  return invalid_argument(
      fmt::format("{}: got a value of type '{}', wanted '{}'", what, got.type_name(), wanted));
}

Error undefined_error(const Value& value) { return invalid_argument(value.as_undefined().message); }

}  // namespace moe::text::jinja
