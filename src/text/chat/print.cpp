#include "text/chat/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

void append_repr_text(TextBuilder& out, const Text& text) {
  const bool has_single = text.bytes.find('\'') != std::string::npos;
  const bool has_double = text.bytes.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  const std::string_view quotes(&quote, 1);
  if (text.markup) out.append("Markup(");
  out.append(quotes);
  for (size_t p = 0; p < text.bytes.size();) {
    const size_t start = p;
    const char32_t c = decode_next(text.bytes, p);
    const bool untrusted = text.is_untrusted_at(start);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out.append("\\", untrusted);
      out.append_code_point(c, untrusted);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", untrusted);
    } else if (is_printable(c)) {
      out.append_code_point(c, untrusted);
    } else if (c < 0x100) {
      out.append(fmt::format("\\x{:02x}", static_cast<uint32_t>(c)), untrusted);
    } else if (c < 0x10000) {
      out.append(fmt::format("\\u{:04x}", static_cast<uint32_t>(c)), untrusted);
    } else {
      out.append(fmt::format("\\U{:08x}", static_cast<uint32_t>(c)), untrusted);
    }
  }
  out.append(quotes);
  if (text.markup) out.append(")");
}

Status append_repr_items(TextBuilder& out, const std::vector<Value>& items) {
  for (size_t i = 0; i < items.size() && !out.overflowed(); ++i) {
    if (i > 0) out.append(", ");
    TRY(append_repr(out, items[i]));
  }
  return {};
}

Status append_repr_object(TextBuilder& out, const Value& value) {
  if (const auto* range = value.object_as<Range>()) {
    out.append(range->print());
    return {};
  }
  if (const auto* view = value.object_as<DictView>()) {
    out.append(view->type_name());
    out.append("([");
    for (size_t i = 0; i < *view->length() && !out.overflowed(); ++i) {
      if (i > 0) out.append(", ");
      TRY(append_repr(out, view->item_at(i)));
    }
    out.append("])");
    return {};
  }
  if (const auto* group = value.object_as<Group>()) {
    out.append("(");
    TRY(append_repr_items(out, {group->item_at(0), group->item_at(1)}));
    out.append(")");
    return {};
  }
  return unsupported(fmt::format("a value of type '{}' cannot be printed", value.type_name()),
                     "print its parts, or turn it into a list");
}

void append_json_char(TextBuilder& out, char32_t c, bool untrusted, bool ascii) {
  constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f";
  constexpr std::string_view kLetters = "\"\\nrtbf";
  if (c < 0x80) {
    const size_t known = kEscaped.find(static_cast<char>(c));
    if (known != std::string_view::npos) {
      const char escape[2] = {'\\', kLetters[known]};
      out.append(std::string_view(escape, 2), untrusted);
      return;
    }
  }
  if (c < 0x20 || (ascii && c > 0x7E && c < 0x10000)) {
    out.append(fmt::format("\\u{:04x}", static_cast<uint32_t>(c)), untrusted);
  } else if (ascii && c >= 0x10000) {
    const uint32_t rest = static_cast<uint32_t>(c) - 0x10000;
    out.append(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF)),
               untrusted);
  } else {
    out.append_code_point(c, untrusted);
  }
}

void append_json_text(TextBuilder& out, const Text& text, bool ascii) {
  out.append("\"");
  size_t plain = 0;  // start of what needs no escape
  for (size_t p = 0; p < text.bytes.size();) {
    const auto byte = static_cast<unsigned char>(text.bytes[p]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && (byte < 0x7F || !ascii)) {
      ++p;
      continue;
    }
    out.append_slice(text, plain, p);
    const size_t start = p;
    const char32_t c = decode_next(text.bytes, p);
    append_json_char(out, c, text.is_untrusted_at(start), ascii);
    plain = p;
  }
  out.append_slice(text, plain, text.bytes.size());
  out.append("\"");
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return print_float(value);
}

class JsonWriter {
 public:
  JsonWriter(TextBuilder& out, const JsonStyle& style) : out_(out), style_(style) {}

  Status write(const Value& value, size_t level) {
    switch (value.kind()) {
      case Kind::kNone:
        out_.append("null");
        return {};
      case Kind::kBool:
        out_.append(value.as_bool() ? "true" : "false");
        return {};
      case Kind::kInt:
        out_.append(std::to_string(value.as_int()));
        return {};
      case Kind::kFloat:
        out_.append(json_float(value.as_float()));
        return {};
      case Kind::kText:
        append_json_text(out_, value.as_text(), style_.ascii);
        return {};
      case Kind::kList:
      case Kind::kTuple:
        return write_list(value.items(), level);
      case Kind::kDict:
        return write_dict(value.as_dict(), level);
      default:
        return invalid_argument(
            fmt::format("a value of type '{}' cannot be written as JSON", value.type_name()));
    }
  }

 private:
  void break_line(size_t level) {
    if (!style_.indent) return;
    out_.append("\n");
    for (size_t i = 0; i < level && !out_.overflowed(); ++i) out_.append(style_.indent->as_text());
  }

  Status write_list(const std::vector<Value>& items, size_t level) {
    out_.append("[");
    for (size_t i = 0; i < items.size() && !out_.overflowed(); ++i) {
      if (i > 0) out_.append(style_.item_separator.as_text());
      break_line(level + 1);
      TRY(write(items[i], level + 1));
    }
    if (!items.empty()) break_line(level);
    out_.append("]");
    return {};
  }

  Status write_key(const Value& key) {
    if (key.is_text()) {
      append_json_text(out_, key.as_text(), style_.ascii);
      return {};
    }
    if (!key.is_number() && !key.is(Kind::kNone)) {
      return type_error("key of a JSON object", key, "str");
    }
    out_.append("\"");
    TRY(write(key, 0));
    out_.append("\"");
    return {};
  }

  Status write_dict(const Dict& dict, size_t level) {
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) TRY(sort(entries));
    out_.append("{");
    for (size_t i = 0; i < entries.size() && !out_.overflowed(); ++i) {
      if (i > 0) out_.append(style_.item_separator.as_text());
      break_line(level + 1);
      TRY(write_key(entries[i]->first));
      out_.append(style_.key_separator.as_text());
      TRY(write(entries[i]->second, level + 1));
    }
    if (!entries.empty()) break_line(level);
    out_.append("}");
    return {};
  }

  static Status sort(std::vector<const std::pair<Value, Value>*>& entries) {
    for (const auto* entry : entries) {
      if (!entry->first.is_text()) return type_error("key to sort by", entry->first, "str");
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return a->first.bytes() < b->first.bytes(); });
    return {};
  }

  TextBuilder& out_;
  const JsonStyle& style_;
};

}  // namespace

std::string Range::print() const {
  if (step_ == 1) return fmt::format("range({}, {})", start_, stop_);
  return fmt::format("range({}, {}, {})", start_, stop_, step_);
}

Status append_str(TextBuilder& out, const Value& value) {
  if (value.is_text()) {
    out.append(value.as_text());
    return {};
  }
  if (value.is(Kind::kUndefined) || value.is(Kind::kMissing)) return {};
  return append_repr(out, value);
}

Status append_repr(TextBuilder& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out.append("Undefined");
      return {};
    case Kind::kNone:
      out.append("None");
      return {};
    case Kind::kBool:
      out.append(value.as_bool() ? "True" : "False");
      return {};
    case Kind::kInt:
      out.append(std::to_string(value.as_int()));
      return {};
    case Kind::kFloat:
      out.append(print_float(value.as_float()));
      return {};
    case Kind::kText:
      append_repr_text(out, value.as_text());
      return {};
    case Kind::kList:
      out.append("[");
      TRY(append_repr_items(out, value.items()));
      out.append("]");
      return {};
    case Kind::kTuple:
      out.append("(");
      TRY(append_repr_items(out, value.items()));
      out.append(value.items().size() == 1 ? ",)" : ")");
      return {};
    case Kind::kDict: {
      out.append("{");
      bool first = true;
      for (const auto& [key, item] : value.as_dict().entries) {
        if (!first) out.append(", ");
        first = false;
        TRY(append_repr(out, key));
        out.append(": ");
        TRY(append_repr(out, item));
        if (out.overflowed()) break;
      }
      out.append("}");
      return {};
    }
    case Kind::kObject:
      return append_repr_object(out, value);
  }
  return {};
}

Result<Value> to_text(Interp& interp, const Value& value) {
  if (value.is_text()) return without_markup(value);
  TextBuilder out = interp.text_builder();
  TRY(append_str(out, value));
  return interp.make_text(std::move(out));
}

Status append_json(TextBuilder& out, const Value& value, const JsonStyle& style) {
  return JsonWriter(out, style).write(value, 0);
}

void append_html_escaped(TextBuilder& out, const Text& text) {
  size_t plain = 0;
  for (size_t p = 0; p < text.bytes.size(); ++p) {
    const char c = text.bytes[p];
    const std::string_view escape = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '\'' ? "&#39;"
                                    : c == '"'  ? "&#34;"
                                                : "";
    if (escape.empty()) continue;
    out.append_slice(text, plain, p);
    out.append(escape, text.is_untrusted_at(p));
    plain = p + 1;
  }
  out.append_slice(text, plain, text.bytes.size());
}

Value as_markup(const Value& text) {
  if (text.as_text().markup) return text;
  Text copy = text.as_text();
  copy.markup = true;
  return Value::text(std::move(copy));
}

Value without_markup(const Value& text) {
  if (!text.as_text().markup) return text;
  Text copy = text.as_text();
  copy.markup = false;
  return Value::text(std::move(copy));
}

}  // namespace moe::text::jinja
