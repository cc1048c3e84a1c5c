// Filters whose input is read as text.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/print.hpp"
#include "text/chat/splitting.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

// jinja2's soft_str: str(), but markup stays markup.
Result<Value> soft_text(Interp& interp, const Value& value) {
  return value.is_text() ? Result<Value>(value) : to_text(interp, value);
}

Result<Value> with_markup_of(const Value& source, Result<Value> result) {
  if (!result.ok() || !source.as_text().markup) return result;
  return as_markup(*result);
}

// Runs the str method of that name on the input as text.
Result<Value> run_method(Interp& interp, std::string_view method, const Value& input, Args& args) {
  const Value text = TRY(soft_text(interp, input));
  return find_text_method(method)->run(interp, text, args);
}

Result<Value> filter_upper(Interp& interp, const Value& input, Args& args) {
  return run_method(interp, "upper", input, args);
}
Result<Value> filter_lower(Interp& interp, const Value& input, Args& args) {
  return run_method(interp, "lower", input, args);
}
Result<Value> filter_capitalize(Interp& interp, const Value& input, Args& args) {
  return run_method(interp, "capitalize", input, args);
}

Result<Value> filter_trim(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'trim'", args, {"chars"}, 0));
  Args strip;
  if (!bound[0].is(Kind::kMissing)) strip.positional.push_back(bound[0]);
  return run_method(interp, "strip", input, strip);
}

Result<Value> filter_center(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'center'", args, {"width"}, 0));
  Args center;
  center.positional.push_back(bound[0].is(Kind::kMissing) ? Value::integer(80) : bound[0]);
  return run_method(interp, "center", input, center);
}

// jinja2's own idea of words, unlike str.title().
Result<Value> filter_title(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'title'", args, {}, 0));
  const Value value = TRY(soft_text(interp, input));
  const Text& text = value.as_text();
  TextBuilder out = interp.text_builder();
  bool at_start = true;
  for (size_t p = 0; p < text.bytes.size();) {
    const size_t start = p;
    const char32_t c = decode_next(text.bytes, p);
    append_cased(out, text, start, p, at_start ? Case::kUpper : Case::kLower);
    at_start = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
  }
  return interp.make_text(std::move(out));
}

Result<Value> filter_string(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'string'", args, {}, 0));
  return soft_text(interp, input);
}

Result<Value> filter_safe(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'safe'", args, {}, 0));
  return as_markup(TRY(soft_text(interp, input)));
}

Result<Value> escape(Interp& interp, const Value& input, bool again) {
  const Value text = TRY(soft_text(interp, input));
  if (text.as_text().markup && !again) return text;
  TextBuilder out = interp.text_builder();
  append_html_escaped(out, text.as_text());
  return as_markup(TRY(interp.make_text(std::move(out))));
}

Result<Value> filter_escape(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'escape'", args, {}, 0));
  return escape(interp, input, false);
}

Result<Value> filter_forceescape(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'forceescape'", args, {}, 0));
  return escape(interp, input, true);
}

Result<Value> filter_replace(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'replace'", args, {"old", "new", "count"}, 2));
  const Value text = TRY(to_text(interp, input));
  const Value from = TRY(to_text(interp, bound[0]));
  const Value to = TRY(to_text(interp, bound[1]));
  const int64_t count =
      bound[2].is(Kind::kNone) ? -1 : TRY(int_arg("filter 'replace'", bound[2], -1));
  return replace_text(interp, text.as_text(), from.as_text(), to.as_text(), count);
}

Result<Value> filter_format(Interp& interp, const Value& input, Args& args) {
  const Value format = TRY(soft_text(interp, input));
  if (!args.positional.empty() && !args.keyword.empty()) {
    return invalid_argument("filter 'format' takes positional or keyword arguments, not both");
  }
  if (args.keyword.empty()) {
    const Value values = TRY(interp.make_tuple(std::move(args.positional)));
    return arithmetic(interp, Op::kModulo, format, values);
  }
  Dict names;
  for (auto& [key, value] : args.keyword) names.set(Value::literal(key), std::move(value));
  return arithmetic(interp, Op::kModulo, format, TRY(interp.make_dict(std::move(names))));
}

Result<Value> filter_indent(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'indent'", args, {"width", "first", "blank"}, 0));
  const Text& text = *TRY(text_arg("filter 'indent'", input));
  TextBuilder indention_builder = interp.text_builder();
  if (bound[0].is_text()) {
    indention_builder.append(bound[0].as_text());
  } else {
    const int64_t width = TRY(int_arg("filter 'indent'", bound[0], 4));
    indention_builder.append_fill(" ", width > 0 ? static_cast<size_t>(width) : 0);
  }
  const Value indention = TRY(interp.make_text(std::move(indention_builder)));
  const bool blank = bound[2].truthy();
  TextBuilder out = interp.text_builder();
  if (bound[1].truthy()) out.append(indention.as_text());
  // The newline that jinja2 adds before it splits makes an empty text one empty line.
  TextBuilder padded_builder = interp.text_builder();
  padded_builder.append(text);
  padded_builder.append("\n");
  const Value padded = TRY(interp.make_text(std::move(padded_builder)));
  bool first = true;
  for (const ByteRange& line : split_lines(padded.as_text(), false)) {
    if (!first) {
      out.append("\n");
      if (blank || line.begin != line.end) out.append(indention.as_text());
    }
    first = false;
    out.append_slice(padded.as_text(), line.begin, line.end);
  }
  return with_markup_of(input, interp.make_text(std::move(out)));
}

Result<Value> filter_truncate(Interp& interp, const Value& input, Args& args) {
  auto bound =
      TRY(bind_args("filter 'truncate'", args, {"length", "killwords", "end", "leeway"}, 0));
  const int64_t length = TRY(int_arg("filter 'truncate'", bound[0], 255));
  const Value end = bound[2].is(Kind::kMissing) ? Value::literal("...") : bound[2];
  const Text& end_text = *TRY(text_arg("filter 'truncate'", end));
  const int64_t leeway =
      bound[3].is(Kind::kNone) ? 5 : TRY(int_arg("filter 'truncate'", bound[3], 5));
  const auto end_length = static_cast<int64_t>(end_text.length);
  if (length < end_length || leeway < 0) {
    return invalid_argument("filter 'truncate' needs a length of at least that of 'end'");
  }
  int64_t most = 0;
  const bool no_bound = __builtin_add_overflow(length, leeway, &most);
  // Lists and objects pass as they are when they are short enough.
  Args none;
  const Value size = TRY(interp.call_filter("length", input, none));
  if (no_bound || size.as_int() <= most) return input;
  const Text& text = *TRY(text_arg("filter 'truncate'", input));
  size_t keep = byte_offset(text, static_cast<size_t>(length - end_length));
  if (!bound[1].truthy()) {
    const size_t space = keep == 0 ? std::string::npos : text.bytes.rfind(' ', keep - 1);
    if (space != std::string::npos) keep = space;
  }
  TextBuilder out = interp.text_builder();
  out.append_slice(text, 0, keep);
  out.append(end_text);
  return with_markup_of(input, interp.make_text(std::move(out)));
}

Result<Value> filter_wordcount(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'wordcount'", args, {}, 0));
  const Value text = TRY(soft_text(interp, input));
  int64_t words = 0;
  bool in_word = false;
  for (size_t p = 0; p < text.bytes().size();) {
    const bool word = is_word(decode_next(text.bytes(), p));
    words += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return Value::integer(words);
}

void append_quoted(TextBuilder& out, const Text& text, bool for_query) {
  constexpr std::string_view kPlain = "_.-~";
  for (size_t p = 0; p < text.bytes.size(); ++p) {
    const char c = text.bytes[p];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos || (c == '/' && !for_query);
    if (plain) {
      out.append_slice(text, p, p + 1);
    } else if (for_query && c == ' ') {
      out.append("+", text.is_untrusted_at(p));
    } else {
      out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), text.is_untrusted_at(p));
    }
  }
}

Result<Value> filter_urlencode(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'urlencode'", args, {}, 0));
  TextBuilder out = interp.text_builder();
  const bool iterable = input.is_sequence() || input.is(Kind::kDict) || input.is(Kind::kObject);
  if (!iterable) {
    append_quoted(out, TRY(to_text(interp, input)).as_text(), false);
    return interp.make_text(std::move(out));
  }
  std::vector<std::pair<Value, Value>> pairs;
  if (input.is(Kind::kDict)) {
    pairs = input.as_dict().entries;
  } else {
    for (const Value& item : TRY(interp.collect(input))) {
      const std::vector<Value> pair = TRY(interp.collect(item));
      if (pair.size() != 2) return invalid_argument("filter 'urlencode' wants pairs");
      pairs.emplace_back(pair[0], pair[1]);
    }
  }
  bool first = true;
  for (const auto& [key, value] : pairs) {
    if (!first) out.append("&");
    first = false;
    append_quoted(out, TRY(to_text(interp, key)).as_text(), true);
    out.append("=");
    append_quoted(out, TRY(to_text(interp, value)).as_text(), true);
  }
  return interp.make_text(std::move(out));
}

Result<std::pair<Value, Value>> json_separators(Interp& interp, const Value& given, bool indented) {
  if (given.is(Kind::kMissing) || given.is(Kind::kNone)) {
    return std::pair(Value::literal(indented ? "," : ", "), Value::literal(": "));
  }
  const std::vector<Value> parts = TRY(interp.collect(given));
  if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text()) {
    return invalid_argument("filter 'tojson': separators wants two texts");
  }
  return std::pair(parts[0], parts[1]);
}

// transformers' tojson: json.dumps without HTML escapes.
Result<Value> filter_tojson(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(
      bind_args("filter 'tojson'", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0));
  JsonStyle style;
  style.ascii = bound[0].truthy();
  style.sort_keys = bound[3].truthy();
  const Value& indent = bound[1];
  if (indent.is_text()) {
    style.indent = indent;
  } else if (!indent.is(Kind::kMissing) && !indent.is(Kind::kNone)) {
    const int64_t width = TRY(int_arg("filter 'tojson'", indent, 0));
    TextBuilder spaces = interp.text_builder();
    spaces.append_fill(" ", width > 0 ? static_cast<size_t>(width) : 0);
    style.indent = TRY(interp.make_text(std::move(spaces)));
  }
  const auto separators = TRY(json_separators(interp, bound[2], style.indent.has_value()));
  style.item_separator = separators.first;
  style.key_separator = separators.second;
  TextBuilder out = interp.text_builder();
  TRY(append_json(out, input, style));
  return interp.make_text(std::move(out));
}

constexpr Filter kFilters[] = {
    {"capitalize", filter_capitalize},
    {"center", filter_center},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"forceescape", filter_forceescape},
    {"format", filter_format},
    {"indent", filter_indent},
    {"lower", filter_lower},
    {"replace", filter_replace},
    {"safe", filter_safe},
    {"string", filter_string},
    {"title", filter_title},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"upper", filter_upper},
    {"urlencode", filter_urlencode},
    {"wordcount", filter_wordcount},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace moe::text::jinja
