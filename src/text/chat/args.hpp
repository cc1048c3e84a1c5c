// Arguments of built-in functions: binding by position and name, and checks of their types.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

// Puts `args` into the order of `names`; what was not given is missing. Errors: too many, unknown
// or doubled arguments, or fewer than `required`. `what` names the function.
Result<std::vector<Value>> bind_args(std::string_view what, Args& args,
                                     std::initializer_list<std::string_view> names,
                                     size_t required);
// For Python functions that take arguments by position only.
Status positional_only(std::string_view what, const Args& args, size_t least, size_t most);

Result<int64_t> int_arg(std::string_view what, const Value& value, int64_t otherwise);
// A text argument; the pointer lives as long as `value`.
Result<const Text*> text_arg(std::string_view what, const Value& value);

Error type_error(std::string_view what, const Value& got, std::string_view wanted);
// Error of using an undefined value.
Error undefined_error(const Value& value);

}  // namespace moe::text::jinja
