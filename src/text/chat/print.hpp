// Values as text: Python's str() and repr(), JSON, HTML escapes. Provenance of text is kept.
#pragma once

#include <optional>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

// str(value) and repr(value). Errors: a value that Python prints with its address in memory.
Status append_str(TextBuilder& out, const Value& value);
Status append_repr(TextBuilder& out, const Value& value);
Result<Value> to_text(Interp& interp, const Value& value);

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<Value> indent;  // text of one level; absent: one line
  Value item_separator;
  Value key_separator;
};
// json.dumps(value).
Status append_json(TextBuilder& out, const Value& value, const JsonStyle& style);

void append_html_escaped(TextBuilder& out, const Text& text);
Value as_markup(const Value& text);
Value without_markup(const Value& text);

}  // namespace moe::text::jinja
