#include "text/chat/interp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/objects.hpp"

namespace moe::text::jinja {
namespace {

class ItemsCursor : public Cursor {
 public:
  explicit ItemsCursor(Value list) : list_(std::move(list)) {}
  Result<Value> next(Interp&) override {
    return index_ < list_.items().size() ? list_.items()[index_++] : Value();
  }

 private:
  Value list_;
  size_t index_ = 0;
};

class KeysCursor : public Cursor {
 public:
  explicit KeysCursor(std::shared_ptr<const Dict> dict) : dict_(std::move(dict)) {}
  Result<Value> next(Interp&) override {
    return index_ < dict_->entries.size() ? dict_->entries[index_++].first : Value();
  }

 private:
  std::shared_ptr<const Dict> dict_;
  size_t index_ = 0;
};

class CharactersCursor : public Cursor {
 public:
  explicit CharactersCursor(TextPtr text) : text_(std::move(text)) {}
  Result<Value> next(Interp& interp) override {
    if (position_ >= text_->bytes.size()) return Value();
    const size_t begin = position_;
    decode_next(text_->bytes, position_);
    TextBuilder out = interp.text_builder();
    out.append_slice(*text_, begin, position_);
    return interp.make_text(std::move(out));
  }

 private:
  TextPtr text_;
  size_t position_ = 0;
};

class EmptyCursor : public Cursor {
 public:
  Result<Value> next(Interp&) override { return Value(); }
};

}  // namespace

Interp::Interp(const Limits& limits, const Clock& clock, const Dict& context)
    : limits_(limits), clock_(clock), context_(context) {}

Interp::~Interp() {
  for (const auto& held : namespaces_) held->clear();
}

Status Interp::charge_bytes(size_t bytes) {
  if (bytes > limits_.work_bytes - work_bytes_) {
    return unsupported(
        fmt::format("the template makes values of more than {} bytes", limits_.work_bytes),
        "send fewer or shorter messages");
  }
  work_bytes_ += bytes;
  return {};
}

Status Interp::charge_step() {
  if (++loop_steps_ <= limits_.loop_steps) return {};
  return unsupported(fmt::format("the template takes more than {} loop steps", limits_.loop_steps),
                     "send fewer messages");
}

Result<Value> Interp::make_text(TextBuilder&& builder) {
  if (builder.overflowed()) {
    return unsupported(fmt::format("a text would get longer than {} bytes", builder.limit_bytes()),
                       "send fewer or shorter messages");
  }
  TRY(charge_bytes(builder.size() + sizeof(Text)));
  return Value::text(std::move(builder).finish());
}

Result<Value> Interp::make_items(std::vector<Value> items, bool tuple) {
  if (items.size() > limits_.list_items) {
    return unsupported(fmt::format("a list would get more than {} items", limits_.list_items),
                       "send fewer messages");
  }
  TRY(charge_bytes(items.size() * sizeof(Value) + sizeof(List)));
  auto list = std::make_shared<List>();
  list->items = std::move(items);
  list->depth = 1;
  list->weight = 1;
  for (const Value& item : list->items) {
    list->depth = std::max(list->depth, 1 + item.depth());
    list->weight += item.weight();
  }
  const int depth = list->depth;
  const size_t weight = list->weight;
  // Built first, so that a refused value is taken apart level by level as any other.
  Value value = Value::list_of(std::move(list), tuple);
  if (depth > limits_.value_depth || weight > limits_.value_weight) {
    return unsupported(
        fmt::format("a value would have {} levels and {} parts, the limits are {} "
                    "and {}",
                    depth, weight, limits_.value_depth, limits_.value_weight));
  }
  return value;
}

Result<Value> Interp::make_dict(Dict dict) {
  if (dict.depth > limits_.value_depth || dict.weight > limits_.value_weight) {
    return unsupported(
        fmt::format("a value would have {} levels and {} parts, the limits are {} "
                    "and {}",
                    dict.depth, dict.weight, limits_.value_depth, limits_.value_weight));
  }
  TRY(charge_bytes(dict.entries.size() * 2 * sizeof(Value) + sizeof(Dict)));
  return Value::dict(std::make_shared<const Dict>(std::move(dict)));
}

Result<Value> Interp::make_object(std::shared_ptr<Object> object) {
  constexpr size_t kObjectBytes = 128;
  TRY(charge_bytes(kObjectBytes));
  if (object->depth() > limits_.value_depth) {
    return unsupported(fmt::format("a value would have {} levels, the limit is {}", object->depth(),
                                   limits_.value_depth));
  }
  return Value::object(std::move(object));
}

std::shared_ptr<Namespace> Interp::make_namespace() {
  namespaces_.push_back(std::make_shared<Namespace>());
  return namespaces_.back();
}

Result<std::shared_ptr<Cursor>> Interp::iterate(const Value& value) {
  std::shared_ptr<Cursor> cursor;
  switch (value.kind()) {
    case Kind::kUndefined:
      cursor = std::make_shared<EmptyCursor>();
      break;
    case Kind::kText:
      cursor = std::make_shared<CharactersCursor>(value.share_text());
      break;
    case Kind::kList:
    case Kind::kTuple:
      cursor = std::make_shared<ItemsCursor>(value);
      break;
    case Kind::kDict:
      cursor = std::make_shared<KeysCursor>(value.share_dict());
      break;
    case Kind::kObject:
      cursor = value.as_object().cursor(value.share_object());
      break;
    default:
      break;
  }
  if (cursor != nullptr) return cursor;
  return invalid_argument(
      fmt::format("a value of type '{}' cannot be iterated", value.type_name()));
}

Result<std::vector<Value>> Interp::collect(const Value& value) {
  if (value.is_sequence()) return value.items();
  const auto cursor = TRY(iterate(value));
  std::vector<Value> items;
  while (true) {
    Value item = TRY(cursor->next(*this));
    if (item.is(Kind::kMissing)) return items;
    TRY(charge_step());
    if (items.size() >= limits_.list_items) {
      return unsupported(fmt::format("a list would get more than {} items", limits_.list_items));
    }
    items.push_back(std::move(item));
  }
}

}  // namespace moe::text::jinja
