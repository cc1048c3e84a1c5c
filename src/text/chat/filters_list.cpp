// Filters over lists, objects and other iterables.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/print.hpp"
#include "text/chat/sequences.hpp"

namespace moe::text::jinja {
namespace {

Result<Value> filter_length(Interp&, const Value& input, Args& args) {
  TRY(bind_args("filter 'length'", args, {}, 0));
  if (input.is(Kind::kUndefined)) return Value::integer(0);
  if (input.is_text()) return Value::integer(static_cast<int64_t>(input.as_text().length));
  if (input.is_sequence()) return Value::integer(static_cast<int64_t>(input.items().size()));
  if (input.is(Kind::kDict)) {
    return Value::integer(static_cast<int64_t>(input.as_dict().entries.size()));
  }
  if (input.is(Kind::kObject)) {
    if (const auto length = input.as_object().length()) {
      return Value::integer(static_cast<int64_t>(*length));
    }
  }
  return invalid_argument(fmt::format("a value of type '{}' has no length", input.type_name()));
}

Result<Value> filter_first(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'first'", args, {}, 0));
  const auto cursor = TRY(interp.iterate(input));
  Value item = TRY(cursor->next(interp));
  return item.is(Kind::kMissing) ? Value::undefined("no first item, sequence was empty") : item;
}

Error not_reversible(const Value& value) {
  return invalid_argument(
      fmt::format("a value of type '{}' cannot be reversed", value.type_name()));
}

bool is_reversible(const Value& value) {
  return value.is_text() || value.is_sequence() || value.is(Kind::kUndefined) ||
         value.is(Kind::kDict) ||
         (value.is(Kind::kObject) && value.as_object().length().has_value());
}

Result<Value> filter_last(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'last'", args, {}, 0));
  if (!is_reversible(input)) return not_reversible(input);
  if (input.is_text()) {
    const Value at = TRY(interp.item(input, Value::integer(-1)));
    return at.is(Kind::kUndefined) ? Value::undefined("no last item, sequence was empty") : at;
  }
  const std::vector<Value> items = TRY(interp.collect(input));
  return items.empty() ? Value::undefined("no last item, sequence was empty") : items.back();
}

Result<Value> filter_list(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'list'", args, {}, 0));
  return interp.make_list(TRY(interp.collect(input)));
}

Result<Value> filter_reverse(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'reverse'", args, {}, 0));
  if (input.is_text()) return slice(interp, input, {}, {}, Value::integer(-1));
  std::vector<Value> items = TRY(interp.collect(input));
  std::reverse(items.begin(), items.end());
  Value reversed = TRY(interp.make_list(std::move(items)));
  if (!is_reversible(input)) return reversed;
  // As Python's reversed(): an iterator, not a list.
  const auto cursor = TRY(interp.iterate(reversed));
  return interp.make_object(std::make_shared<Generator>(
      [cursor](Interp& inner) { return cursor->next(inner); }, reversed.depth()));
}

Result<Value> filter_join(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'join'", args, {"d", "attribute"}, 0));
  const AttributePath path = TRY(AttributePath::parse(bound[1], false));
  Value separator;
  if (!bound[0].is(Kind::kMissing)) separator = TRY(to_text(interp, bound[0]));
  TextBuilder out = interp.text_builder();
  const auto cursor = TRY(interp.iterate(input));
  for (bool first = true;; first = false) {
    const Value item = TRY(cursor->next(interp));
    if (item.is(Kind::kMissing)) break;
    TRY(interp.charge_step());
    if (!first && separator.is_text()) out.append(separator.as_text());
    const Value part = TRY(path.get(interp, item));
    TRY(append_str(out, part));
  }
  return interp.make_text(std::move(out));
}

// Keys for sorting by one or several attributes, "name,age".
Result<std::vector<Keyed>> keyed_items(Interp& interp, std::vector<Value> items,
                                       const Value& attribute, bool ignore_case) {
  std::vector<AttributePath> paths;
  if (attribute.is_text()) {
    const std::string& text = attribute.bytes();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      const Value part = Value::literal(text.substr(begin, comma - begin));
      paths.push_back(TRY(AttributePath::parse(part, ignore_case)));
      begin = comma + 1;
    }
  } else {
    paths.push_back(TRY(AttributePath::parse(attribute, ignore_case)));
  }
  std::vector<Keyed> keyed;
  keyed.reserve(items.size());
  for (Value& item : items) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) keys.push_back(TRY(path.get(interp, item)));
    Value key = keys.size() == 1 ? keys[0] : TRY(interp.make_tuple(std::move(keys)));
    keyed.push_back({std::move(key), std::move(item)});
  }
  return keyed;
}

Result<Value> list_of_items(Interp& interp, std::vector<Keyed> keyed) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return interp.make_list(std::move(items));
}

Result<Value> filter_sort(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'sort'", args, {"reverse", "case_sensitive", "attribute"}, 0));
  std::vector<Value> items = TRY(interp.collect(input));
  auto keyed = TRY(keyed_items(interp, std::move(items), bound[2], !bound[1].truthy()));
  TRY(sort_by_key(interp, keyed, bound[0].truthy()));
  return list_of_items(interp, std::move(keyed));
}

Result<Value> filter_dictsort(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'dictsort'", args, {"case_sensitive", "by", "reverse"}, 0));
  if (input.is(Kind::kUndefined)) return undefined_error(input);
  if (!input.is(Kind::kDict)) return type_error("filter 'dictsort'", input, "dict");
  const std::string by = bound[1].is_text() ? bound[1].bytes() : "key";
  if (by != "key" && by != "value") {
    return invalid_argument("filter 'dictsort' sorts by 'key' or 'value' only");
  }
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : input.as_dict().entries) {
    const Value& sorted_by = by == "key" ? key : value;
    Value item = TRY(interp.make_tuple({key, value}));
    keyed.push_back(
        {bound[0].truthy() ? sorted_by : TRY(lowered(interp, sorted_by)), std::move(item)});
  }
  TRY(sort_by_key(interp, keyed, bound[2].truthy()));
  return list_of_items(interp, std::move(keyed));
}

Result<Value> filter_unique(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'unique'", args, {"case_sensitive", "attribute"}, 0));
  const AttributePath path = TRY(AttributePath::parse(bound[1], !bound[0].truthy()));
  const auto cursor = TRY(interp.iterate(input));
  auto seen = std::make_shared<Dict>();
  return interp.make_object(std::make_shared<Generator>(
      [path, cursor, seen](Interp& inner) -> Result<Value> {
        while (true) {
          Value item = TRY(cursor->next(inner));
          if (item.is(Kind::kMissing)) return item;
          TRY(inner.charge_step());
          const Value key = TRY(path.get(inner, item));
          if (!hash_of(key)) return type_error("filter 'unique'", key, "a hashable type");
          if (seen->find(key) != nullptr) continue;
          TRY(inner.charge_bytes(2 * sizeof(Value)));
          seen->set(key, Value::none());
          return item;
        }
      },
      input.depth()));
}

Result<Value> extreme(Interp& interp, const Value& input, Args& args, Op op) {
  auto bound = TRY(bind_args("filter 'min' or 'max'", args, {"case_sensitive", "attribute"}, 0));
  const AttributePath path = TRY(AttributePath::parse(bound[1], !bound[0].truthy()));
  const auto cursor = TRY(interp.iterate(input));
  Value best;
  Value best_key;
  while (true) {
    Value item = TRY(cursor->next(interp));
    if (item.is(Kind::kMissing)) break;
    TRY(interp.charge_step());
    Value key = TRY(path.get(interp, item));
    const bool better = best.is(Kind::kMissing) || TRY(compare(interp, op, key, best_key));
    if (!better) continue;
    best = std::move(item);
    best_key = std::move(key);
  }
  return best.is(Kind::kMissing) ? Value::undefined("no aggregated item, sequence was empty")
                                 : best;
}

Result<Value> filter_min(Interp& interp, const Value& input, Args& args) {
  return extreme(interp, input, args, Op::kLess);
}
Result<Value> filter_max(Interp& interp, const Value& input, Args& args) {
  return extreme(interp, input, args, Op::kGreater);
}

Result<Value> filter_sum(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'sum'", args, {"attribute", "start"}, 0));
  const AttributePath path = TRY(AttributePath::parse(bound[0], false));
  Value sum = bound[1].is(Kind::kMissing) ? Value::integer(0) : bound[1];
  if (sum.is_text()) return invalid_argument("filter 'sum' does not add texts");
  const auto cursor = TRY(interp.iterate(input));
  while (true) {
    const Value item = TRY(cursor->next(interp));
    if (item.is(Kind::kMissing)) return sum;
    TRY(interp.charge_step());
    const Value part = TRY(path.get(interp, item));
    sum = TRY(arithmetic(interp, Op::kAdd, sum, part));
  }
}

Result<Value> filter_items(Interp& interp, const Value& input, Args& args) {
  TRY(bind_args("filter 'items'", args, {}, 0));
  if (!input.is(Kind::kDict) && !input.is(Kind::kUndefined)) {
    return type_error("filter 'items'", input, "dict");
  }
  std::shared_ptr<Cursor> cursor;
  if (input.is(Kind::kDict)) {
    const auto view = std::make_shared<DictView>(DictView::Part::kItems, input.share_dict());
    cursor = view->cursor(view);
  }
  return interp.make_object(std::make_shared<Generator>(
      [cursor](Interp& inner) { return cursor == nullptr ? Value() : cursor->next(inner); },
      input.depth() + 1));
}

Result<Value> filter_batch(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'batch'", args, {"linecount", "fill_with"}, 1));
  const int64_t count = TRY(int_arg("filter 'batch'", bound[0], 0));
  const Value fill = bound[1];
  if (count < 1) return unsupported("filter 'batch' needs a line count of at least 1");
  const auto cursor = TRY(interp.iterate(input));
  return interp.make_object(std::make_shared<Generator>(
      [cursor, count, fill](Interp& inner) -> Result<Value> {
        std::vector<Value> batch;
        while (static_cast<int64_t>(batch.size()) < count) {
          Value item = TRY(cursor->next(inner));
          if (item.is(Kind::kMissing)) break;
          TRY(inner.charge_step());
          batch.push_back(std::move(item));
        }
        if (batch.empty()) return Value();
        const bool padded = !fill.is(Kind::kMissing) && !fill.is(Kind::kNone);
        while (padded && static_cast<int64_t>(batch.size()) < count) {
          TRY(inner.charge_step());
          batch.push_back(fill);
        }
        return inner.make_list(std::move(batch));
      },
      std::max(input.depth(), fill.depth()) + 1));
}

Result<Value> filter_slice(Interp& interp, const Value& input, Args& args) {
  auto bound = TRY(bind_args("filter 'slice'", args, {"slices", "fill_with"}, 1));
  const int64_t slices = TRY(int_arg("filter 'slice'", bound[0], 0));
  if (slices < 1) return invalid_argument("filter 'slice' needs at least 1 slice");
  const Value fill = bound[1];
  std::vector<Value> collected = TRY(interp.collect(input));
  const Value items = TRY(interp.make_list(std::move(collected)));
  const auto total = static_cast<int64_t>(items.items().size());
  int64_t number = 0;
  int64_t begin = 0;
  return interp.make_object(std::make_shared<Generator>(
      [=](Interp& inner) mutable -> Result<Value> {
        if (number >= slices) return Value();
        TRY(inner.charge_step());
        const bool extra = number < total % slices;
        const int64_t end = begin + total / slices + (extra ? 1 : 0);
        std::vector<Value> part(items.items().begin() + begin, items.items().begin() + end);
        const bool padded = !fill.is(Kind::kMissing) && !fill.is(Kind::kNone);
        if (padded && !extra) part.push_back(fill);
        begin = end;
        ++number;
        return inner.make_list(std::move(part));
      },
      std::max(items.depth(), fill.depth()) + 1));
}

Result<Value> filter_groupby(Interp& interp, const Value& input, Args& args) {
  auto bound =
      TRY(bind_args("filter 'groupby'", args, {"attribute", "default", "case_sensitive"}, 1));
  const AttributePath path = TRY(AttributePath::parse(bound[0], !bound[2].truthy(), bound[1]));
  const AttributePath shown = TRY(AttributePath::parse(bound[0], false, bound[1]));
  std::vector<Keyed> keyed;
  for (Value& item : TRY(interp.collect(input))) {
    Value key = TRY(path.get(interp, item));
    keyed.push_back({std::move(key), std::move(item)});
  }
  TRY(sort_by_key(interp, keyed, false));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    size_t end = begin;
    while (end < keyed.size() && equal(keyed[end].key, keyed[begin].key)) {
      members.push_back(keyed[end++].item);
    }
    Value name = TRY(shown.get(interp, members[0]));
    Value list = TRY(interp.make_list(std::move(members)));
    groups.push_back(TRY(interp.make_object(std::make_shared<Group>(name, list))));
    begin = end;
  }
  return interp.make_list(std::move(groups));
}

constexpr Filter kFilters[] = {
    {"batch", filter_batch},     {"count", filter_length},    {"dictsort", filter_dictsort},
    {"first", filter_first},     {"groupby", filter_groupby}, {"items", filter_items},
    {"join", filter_join},       {"last", filter_last},       {"length", filter_length},
    {"list", filter_list},       {"max", filter_max},         {"min", filter_min},
    {"reverse", filter_reverse}, {"slice", filter_slice},     {"sort", filter_sort},
    {"sum", filter_sum},         {"unique", filter_unique},
};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace moe::text::jinja
