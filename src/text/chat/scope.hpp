// Decides where each variable of a template lives, once after parsing. The rules are jinja2's:
// loops, macros, call blocks, set blocks, filter blocks and `with` have scopes of their own,
// branches of `if` do not; a scope that assigns a name starts with a copy of the outer variable.
#pragma once

#include <string_view>

#include "text/chat/ast.hpp"

namespace moe::text::jinja {

// Errors: corrupt with name and line for a filter or test that does not exist, or an assignment to
// `loop` within a loop.
Status resolve_names(Function& root, std::string_view template_name);

}  // namespace moe::text::jinja
