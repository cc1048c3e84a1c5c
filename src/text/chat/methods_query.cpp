// Methods of str that find, count or classify, and the methods of list, tuple and dict.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

// The part of the text that optional start and end arguments choose, in bytes; nullopt when start
// is past the end.
Result<std::optional<ByteRange>> chosen_part(const Text& text, const Args& args, size_t first) {
  const auto length = static_cast<int64_t>(text.length);
  int64_t bounds[2] = {0, length};
  for (size_t i = 0; i < 2; ++i) {
    if (first + i >= args.positional.size()) break;
    const Value& given = args.positional[first + i];
    if (given.is(Kind::kNone)) continue;
    bounds[i] = TRY(int_arg("str method", given, 0));
    if (bounds[i] < 0) bounds[i] = std::max<int64_t>(0, bounds[i] + length);
    if (i == 1) bounds[i] = std::min(bounds[i], length);
  }
  if (bounds[0] > bounds[1]) return std::optional<ByteRange>();
  return std::optional<ByteRange>(ByteRange{byte_offset(text, static_cast<size_t>(bounds[0])),
                                            byte_offset(text, static_cast<size_t>(bounds[1]))});
}

// Position of the argument in code points, -1 when it is not there.
Result<int64_t> find_position(const Value& self, Args& args, bool from_right) {
  TRY(positional_only("str.find", args, 1, 3));
  const Text& wanted = *TRY(text_arg("str.find", args.positional[0]));
  const Text& text = self.as_text();
  const auto part = TRY(chosen_part(text, args, 1));
  if (!part) return -1;
  const std::string_view view =
      std::string_view(text.bytes).substr(part->begin, part->end - part->begin);
  const size_t at = from_right ? view.rfind(wanted.bytes) : view.find(wanted.bytes);
  if (at == std::string_view::npos) return -1;
  return static_cast<int64_t>(code_points_before(text, part->begin + at));
}

template <bool kFromRight>
Result<Value> find(Interp&, const Value& self, Args& args) {
  return Value::integer(TRY(find_position(self, args, kFromRight)));
}

template <bool kFromRight>
Result<Value> index(Interp&, const Value& self, Args& args) {
  const int64_t at = TRY(find_position(self, args, kFromRight));
  if (at < 0) return invalid_argument("str.index: substring not found");
  return Value::integer(at);
}

Result<Value> count(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str.count", args, 1, 3));
  const Text& wanted = *TRY(text_arg("str.count", args.positional[0]));
  const Text& text = self.as_text();
  const auto part = TRY(chosen_part(text, args, 1));
  if (!part) return Value::integer(0);
  const std::string_view view =
      std::string_view(text.bytes).substr(part->begin, part->end - part->begin);
  if (wanted.bytes.empty()) {
    return Value::integer(static_cast<int64_t>(count_code_points(view)) + 1);
  }
  int64_t found = 0;
  for (size_t at = view.find(wanted.bytes); at != std::string_view::npos;
       at = view.find(wanted.bytes, at + wanted.bytes.size())) {
    ++found;
  }
  return Value::integer(found);
}

template <bool kStart>
Result<Value> has_affix(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str.startswith", args, 1, 3));
  const Text& text = self.as_text();
  const auto part = TRY(chosen_part(text, args, 1));
  std::vector<Value> affixes = {args.positional[0]};
  if (args.positional[0].is(Kind::kTuple)) affixes = args.positional[0].items();
  bool found = false;
  for (const Value& value : affixes) {
    const Text& affix = *TRY(text_arg("str.startswith", value));
    if (!part) continue;
    const std::string_view view =
        std::string_view(text.bytes).substr(part->begin, part->end - part->begin);
    found = found || (kStart ? view.starts_with(affix.bytes) : view.ends_with(affix.bytes));
  }
  return Value::boolean(found);
}

template <bool (*kClass)(char32_t)>
Result<Value> all_are(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str class method", args, 0, 0));
  const std::string& text = self.bytes();
  for (size_t p = 0; p < text.size();) {
    if (!kClass(decode_next(text, p))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

bool is_ascii(char32_t c) { return c < 0x80; }

// isascii() and isprintable() hold for the empty text too.
template <bool (*kClass)(char32_t)>
Result<Value> none_is_not(Interp& interp, const Value& self, Args& args) {
  if (self.bytes().empty()) return Value::boolean(true);
  return all_are<kClass>(interp, self, args);
}

template <bool kUpper>
Result<Value> all_cased(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str.isupper", args, 0, 0));
  const std::string& text = self.bytes();
  bool any = false;
  for (size_t p = 0; p < text.size();) {
    const char32_t c = decode_next(text, p);
    if (is_title(c) || (kUpper ? is_lower(c) : is_upper(c))) return Value::boolean(false);
    any = any || (kUpper ? is_upper(c) : is_lower(c));
  }
  return Value::boolean(any);
}

Result<Value> istitle(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str.istitle", args, 0, 0));
  const std::string& text = self.bytes();
  bool after_cased = false;
  bool any = false;
  for (size_t p = 0; p < text.size();) {
    const char32_t c = decode_next(text, p);
    const bool starts = is_upper(c) || is_title(c);
    if (starts && after_cased) return Value::boolean(false);
    if (is_lower(c) && !after_cased) return Value::boolean(false);
    after_cased = starts || is_lower(c);
    any = any || after_cased;
  }
  return Value::boolean(any);
}

Result<Value> isidentifier(Interp&, const Value& self, Args& args) {
  TRY(positional_only("str.isidentifier", args, 0, 0));
  return Value::boolean(is_identifier(self.bytes()));
}

constexpr Method kTextMethods[] = {
    {"count", count},
    {"endswith", has_affix<false>},
    {"find", find<false>},
    {"index", index<false>},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isascii", none_is_not<is_ascii>},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", isidentifier},
    {"islower", all_cased<false>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", none_is_not<is_printable>},
    {"isspace", all_are<is_space>},
    {"istitle", istitle},
    {"isupper", all_cased<true>},
    {"rfind", find<true>},
    {"rindex", index<true>},
    {"startswith", has_affix<true>},
};

Result<Value> list_index(Interp&, const Value& self, Args& args) {
  TRY(positional_only("list.index", args, 1, 3));
  const auto& items = self.items();
  const auto size = static_cast<int64_t>(items.size());
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2 && i + 1 < args.positional.size(); ++i) {
    bounds[i] = TRY(int_arg("list.index", args.positional[i + 1], 0));
    if (bounds[i] < 0) bounds[i] = std::max<int64_t>(0, bounds[i] + size);
  }
  for (int64_t i = bounds[0]; i < std::min(bounds[1], size); ++i) {
    if (equal(items[static_cast<size_t>(i)], args.positional[0])) return Value::integer(i);
  }
  return invalid_argument("list.index: the value is not in the list");
}

Result<Value> list_count(Interp&, const Value& self, Args& args) {
  TRY(positional_only("list.count", args, 1, 1));
  const auto& items = self.items();
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(item, args.positional[0]);
  }));
}

Result<Value> list_copy(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("list.copy", args, 0, 0));
  return interp.make_list(self.items());
}

constexpr Method kListMethods[] = {
    {"copy", list_copy}, {"count", list_count}, {"index", list_index}};

Result<Value> dict_get(Interp&, const Value& self, Args& args) {
  TRY(positional_only("dict.get", args, 1, 2));
  if (!hash_of(args.positional[0])) {
    return type_error("dict.get", args.positional[0], "a hashable type");
  }
  if (const Value* found = self.as_dict().find(args.positional[0])) return *found;
  return args.positional.size() > 1 ? args.positional[1] : Value::none();
}

template <DictView::Part kPart>
Result<Value> dict_view(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("dict.items", args, 0, 0));
  return interp.make_object(std::make_shared<DictView>(kPart, self.share_dict()));
}

Result<Value> dict_copy(Interp& interp, const Value& self, Args& args) {
  TRY(positional_only("dict.copy", args, 0, 0));
  return interp.make_dict(self.as_dict());
}

constexpr Method kDictMethods[] = {{"copy", dict_copy},
                                   {"get", dict_get},
                                   {"items", dict_view<DictView::Part::kItems>},
                                   {"keys", dict_view<DictView::Part::kKeys>},
                                   {"values", dict_view<DictView::Part::kValues>}};

const Method* find_in(std::span<const Method> table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Method& method) { return method.name == name; });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace

std::span<const Method> text_query_methods() { return kTextMethods; }
const Method* find_list_method(std::string_view name) { return find_in(kListMethods, name); }
const Method* find_dict_method(std::string_view name) { return find_in(kDictMethods, name); }

}  // namespace moe::text::jinja
