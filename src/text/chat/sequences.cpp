#include "text/chat/sequences.hpp"

#include <algorithm>

#include "text/chat/args.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {

Result<AttributePath> AttributePath::parse(const Value& attribute, bool ignore_case,
                                           Value otherwise) {
  AttributePath path;
  path.ignore_case_ = ignore_case;
  path.otherwise_ = std::move(otherwise);
  if (attribute.is(Kind::kMissing) || attribute.is(Kind::kNone)) return path;
  if (!attribute.is_text()) {
    path.parts_.push_back(attribute);
    return path;
  }
  const std::string& text = attribute.bytes();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t dot = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, dot - begin);
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    const auto index = digits ? parse_python_int(part, 10) : ParsedInt{ParsedInt::kInvalid, 0};
    path.parts_.push_back(index.status == ParsedInt::kOk ? Value::integer(index.value)
                                                         : Value::literal(part));
    begin = dot + 1;
  }
  return path;
}

Result<Value> AttributePath::get(Interp& interp, const Value& item) const {
  Value value = item;
  for (const Value& part : parts_) {
    value = TRY(interp.item(value, part));
    const bool replace =
        value.is(Kind::kUndefined) && !otherwise_.is(Kind::kMissing) && !otherwise_.is(Kind::kNone);
    if (replace) value = otherwise_;
  }
  return ignore_case_ ? lowered(interp, value) : Result<Value>(value);
}

Result<Value> lowered(Interp& interp, const Value& value) {
  if (!value.is_text()) return value;
  TextBuilder out = interp.text_builder();
  append_cased(out, value.as_text(), 0, value.bytes().size(), Case::kLower);
  return interp.make_text(std::move(out));
}

namespace {

// Merges the sorted ranges [begin, middle) and [middle, end).
Status merge(Interp& interp, std::vector<Keyed>& items, std::vector<Keyed>& spare, size_t begin,
             size_t middle, size_t end, bool reverse) {
  size_t left = begin;
  size_t right = middle;
  size_t out = begin;
  while (left < middle && right < end) {
    // The right one goes first only when it is strictly before: equal items keep their order.
    const Value& a = items[reverse ? left : right].key;
    const Value& b = items[reverse ? right : left].key;
    const bool right_first = TRY(compare(interp, Op::kLess, a, b));
    spare[out++] = std::move(items[right_first ? right++ : left++]);
  }
  while (left < middle) spare[out++] = std::move(items[left++]);
  while (right < end) spare[out++] = std::move(items[right++]);
  for (size_t i = begin; i < end; ++i) items[i] = std::move(spare[i]);
  return {};
}

}  // namespace

Status sort_by_key(Interp& interp, std::vector<Keyed>& items, bool reverse) {
  std::vector<Keyed> spare(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin + width < items.size(); begin += 2 * width) {
      const size_t end = std::min(begin + 2 * width, items.size());
      TRY(merge(interp, items, spare, begin, begin + width, end, reverse));
    }
  }
  return {};
}

}  // namespace moe::text::jinja
