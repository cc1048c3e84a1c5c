// Methods of str that give texts or lists of texts.
#include <fmt/format.h>

#include <algorithm>

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

Result<Value> finish(Interp& interp, const Text& self, TextBuilder&& out) {
  Value result = TRY(interp.make_text(std::move(out)));
  return self.markup ? as_markup(result) : result;
}

template <Case kTarget>
Result<Value> in_case(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str case method", args, 0, 0));
  const Text& text = self.as_text();
  TextBuilder out = interp.text_builder();
  append_cased(out, text, 0, text.bytes.size(), kTarget);
  return finish(interp, text, std::move(out));
}

Result<Value> capitalize(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.capitalize", args, 0, 0));
  const Text& text = self.as_text();
  TextBuilder out = interp.text_builder();
  const size_t first = text.length == 0 ? 0 : byte_offset(text, 1);
  append_cased(out, text, 0, first, Case::kTitle);
  append_cased(out, text, first, text.bytes.size(), Case::kLower);
  return finish(interp, text, std::move(out));
}

Result<Value> title(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.title", args, 0, 0));
  const Text& text = self.as_text();
  TextBuilder out = interp.text_builder();
  bool after_cased = false;
  for (size_t p = 0; p < text.bytes.size();) {
    const size_t start = p;
    const char32_t c = decode_next(text.bytes, p);
    append_cased(out, text, start, p, after_cased ? Case::kLower : Case::kTitle);
    after_cased = is_cased(c);
  }
  return finish(interp, text, std::move(out));
}

template <bool kLeft, bool kRight>
Result<Value> strip(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.strip", args, 0, 1));
  const Text* chars = nullptr;
  if (!args.positional.empty() && !args.positional[0].is(Kind::kNone)) {
    chars = TRY(text_arg("str.strip", args.positional[0]));
  }
  const Text& text = self.as_text();
  const ByteRange kept = strip_text(text, chars, kLeft, kRight);
  if (kept.begin == 0 && kept.end == text.bytes.size()) return self;
  return make_slice(interp, text, kept);
}

template <bool kFromRight>
Result<Value> split(Interp& interp, const Value& self, Args& args) {
  auto bound = TRY(bind_args("str.split", args, {"sep", "maxsplit"}, 0));
  const int64_t limit = TRY(int_arg("str.split", bound[1], -1));
  const Text* separator = nullptr;
  if (!bound[0].is(Kind::kMissing) && !bound[0].is(Kind::kNone)) {
    separator = TRY(text_arg("str.split", bound[0]));
    if (separator->bytes.empty()) return invalid_argument("str.split: empty separator");
  }
  const Text& text = self.as_text();
  return make_slices(interp, text,
                     kFromRight ? split_text_from_right(text, separator, limit)
                                : split_text(text, separator, limit));
}

Result<Value> splitlines(Interp& interp, const Value& self, Args& args) {
  auto bound = TRY(bind_args("str.splitlines", args, {"keepends"}, 0));
  return make_slices(interp, self.as_text(), split_lines(self.as_text(), bound[0].truthy()));
}

template <bool kFromRight>
Result<Value> partition(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.partition", args, 1, 1));
  const Text& separator = *TRY(text_arg("str.partition", args.positional[0]));
  if (separator.bytes.empty()) return invalid_argument("str.partition: empty separator");
  const Text& text = self.as_text();
  const size_t size = text.bytes.size();
  const size_t at =
      kFromRight ? text.bytes.rfind(separator.bytes) : text.bytes.find(separator.bytes);
  std::vector<ByteRange> parts;
  if (at != std::string::npos) {
    parts = {{0, at}, {at, at + separator.bytes.size()}, {at + separator.bytes.size(), size}};
  } else if (kFromRight) {
    parts = {{0, 0}, {0, 0}, {0, size}};
  } else {
    parts = {{0, size}, {size, size}, {size, size}};
  }
  const Value list = TRY(make_slices(interp, text, parts));
  return interp.make_tuple(list.items());
}

Result<Value> replace(Interp& interp, const Value& self, Args& args) {
  // jinja2 calls by position; Python 3.13 takes count by name as well.
  auto bound = TRY(bind_args("str.replace", args, {"old", "new", "count"}, 2));
  if (self.as_text().markup) return unsupported("replace() on text marked safe is not supported");
  const Text& from = *TRY(text_arg("str.replace", bound[0]));
  const Text& to = *TRY(text_arg("str.replace", bound[1]));
  return replace_text(interp, self.as_text(), from, to, TRY(int_arg("str.replace", bound[2], -1)));
}

Result<Value> join(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.join", args, 1, 1));
  if (self.as_text().markup) return unsupported("join() on text marked safe is not supported");
  TextBuilder out = interp.text_builder();
  const auto cursor = TRY(interp.iterate(args.positional[0]));
  for (bool first = true;; first = false) {
    const Value item = TRY(cursor->next(interp));
    if (item.is(Kind::kMissing)) break;
    TRY(interp.charge_step());
    if (!item.is_text()) return type_error("str.join", item, "str");
    if (!first) out.append(self.as_text());
    out.append(item.as_text());
  }
  return interp.make_text(std::move(out));
}

template <char kAlign>
Result<Value> justify(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.center", args, 1, 2));
  const int64_t width = TRY(int_arg("str.center", args.positional[0], 0));
  std::string fill = " ";
  if (args.positional.size() > 1) {
    const Text& given = *TRY(text_arg("str.center", args.positional[1]));
    if (given.length != 1) return invalid_argument("the fill character must be one character");
    fill = given.bytes;
  }
  const Text& text = self.as_text();
  const auto length = static_cast<int64_t>(text.length);
  const auto padding = static_cast<size_t>(width > length ? width - length : 0);
  // CPython puts the odd one to the left when the width is odd.
  const size_t odd = padding % 2 != 0 && width % 2 != 0 ? 1 : 0;
  const size_t before = kAlign == '>' ? padding : kAlign == '^' ? padding / 2 + odd : 0;
  TextBuilder out = interp.text_builder();
  out.append_fill(fill, before);
  out.append(text);
  out.append_fill(fill, padding - before);
  return finish(interp, text, std::move(out));
}

Result<Value> zfill(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.zfill", args, 1, 1));
  const int64_t width = TRY(int_arg("str.zfill", args.positional[0], 0));
  const Text& text = self.as_text();
  const auto length = static_cast<int64_t>(text.length);
  const size_t sign = !text.bytes.empty() && (text.bytes[0] == '-' || text.bytes[0] == '+') ? 1 : 0;
  TextBuilder out = interp.text_builder();
  out.append_slice(text, 0, sign);
  out.append_fill("0", static_cast<size_t>(width > length ? width - length : 0));
  out.append_slice(text, sign, text.bytes.size());
  return finish(interp, text, std::move(out));
}

template <bool kPrefix>
Result<Value> remove_affix(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.removeprefix", args, 1, 1));
  const Text& affix = *TRY(text_arg("str.removeprefix", args.positional[0]));
  const Text& text = self.as_text();
  const size_t size = text.bytes.size();
  if (kPrefix && text.bytes.starts_with(affix.bytes)) {
    return make_slice(interp, text, {affix.bytes.size(), size});
  }
  if (!kPrefix && !affix.bytes.empty() && text.bytes.ends_with(affix.bytes)) {
    return make_slice(interp, text, {0, size - affix.bytes.size()});
  }
  return self;
}

Result<Value> expandtabs(Interp& interp, const Value& self, Args& args) {
  auto bound = TRY(bind_args("str.expandtabs", args, {"tabsize"}, 0));
  const int64_t size = TRY(int_arg("str.expandtabs", bound[0], 8));
  const Text& text = self.as_text();
  TextBuilder out = interp.text_builder();
  int64_t column = 0;
  for (size_t p = 0; p < text.bytes.size();) {
    const size_t start = p;
    const char32_t c = decode_next(text.bytes, p);
    if (c == '\t') {
      const int64_t step = size > 0 ? size - column % size : 0;
      out.append_fill(" ", static_cast<size_t>(step));
      column += step;
    } else {
      out.append_slice(text, start, p);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    if (out.overflowed()) break;
  }
  return finish(interp, text, std::move(out));
}

Result<Value> format(Interp& interp, const Value& self, Args& args) {
  return format_braces(interp, self.as_text(), args);
}

Result<Value> format_map(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("str.format_map", args, 1, 1));
  const Value& map = args.positional[0];
  if (!map.is(Kind::kDict)) return type_error("str.format_map", map, "dict");
  Args named;
  for (const auto& [key, value] : map.as_dict().entries) {
    if (key.is_text()) named.keyword.emplace_back(key.bytes(), value);
  }
  return format_braces(interp, self.as_text(), named);
}

constexpr Method kMethods[] = {
    {"capitalize", capitalize},
    {"casefold", in_case<Case::kFold>},
    {"center", justify<'^'>},
    {"expandtabs", expandtabs},
    {"format", format},
    {"format_map", format_map},
    {"join", join},
    {"ljust", justify<'<'>},
    {"lower", in_case<Case::kLower>},
    {"lstrip", strip<true, false>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rjust", justify<'>'>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"strip", strip<true, true>},
    {"swapcase", in_case<Case::kSwap>},
    {"title", title},
    {"upper", in_case<Case::kUpper>},
    {"zfill", zfill},
};

}  // namespace

std::span<const Method> text_methods() { return kMethods; }

const Method* find_text_method(std::string_view name) {
  for (const auto table : {text_methods(), text_query_methods()}) {
    for (const Method& method : table) {
      if (method.name == name) return &method;
    }
  }
  return nullptr;
}

}  // namespace moe::text::jinja
