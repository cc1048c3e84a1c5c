// Operators of the template language with Python's meaning, and slices.
#pragma once

#include "text/chat/ast.hpp"
#include "text/chat/value.hpp"

namespace moe::text::jinja {

Result<Value> arithmetic(Interp& interp, Op op, const Value& left, const Value& right);
Result<bool> compare(Interp& interp, Op op, const Value& left, const Value& right);
Result<bool> contains(Interp& interp, const Value& container, const Value& item);
Result<Value> negate(const Value& value, bool negative);
// Missing start, stop or step: not given.
Result<Value> slice(Interp& interp, const Value& object, const Value& start, const Value& stop,
                    const Value& step);
// "format" % value.
Result<Value> format_percent(Interp& interp, const Text& format, const Value& value);
// "format".format(args).
Result<Value> format_braces(Interp& interp, const Text& format, Args& args);

}  // namespace moe::text::jinja
