#include "text/chat/value.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/errors.hpp"

namespace moe::text::jinja {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9E3779B97F4A7C15u + (seed << 6) + (seed >> 2));
}

size_t hash_number(const Value& value) {
  if (!value.is(Kind::kFloat)) return std::hash<int64_t>{}(value.as_int());
  const double number = value.as_float();
  // 2^63 itself is no int64_t, hence < on that side.
  if (number == std::floor(number) && number >= -0x1p63 && number < 0x1p63) {
    return std::hash<int64_t>{}(static_cast<int64_t>(number));
  }
  return std::hash<double>{}(number);
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat)) return a.as_float() == b.as_float();
  const double number = a.is(Kind::kFloat) ? a.as_float() : b.as_float();
  const int64_t integer = a.is(Kind::kFloat) ? b.as_int() : a.as_int();
  // Compared as integers: a double may not hold every int64_t.
  return number >= -0x1p63 && number < 0x1p63 && number == std::floor(number) &&
         static_cast<int64_t>(number) == integer;
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key);
    if (other == nullptr || !equal(value, *other)) return false;
  }
  return true;
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

Value Value::none() {
  Value v;
  v.kind_ = Kind::kNone;
  return v;
}
Value Value::boolean(bool value) {
  Value v;
  v.kind_ = Kind::kBool;
  v.integer_ = value ? 1 : 0;
  return v;
}
Value Value::integer(int64_t value) {
  Value v;
  v.kind_ = Kind::kInt;
  v.integer_ = value;
  return v;
}
Value Value::floating(double value) {
  Value v;
  v.kind_ = Kind::kFloat;
  v.floating_ = value;
  return v;
}
Value Value::text(Text value) { return text(std::make_shared<const Text>(std::move(value))); }
Value Value::text(TextPtr value) {
  Value v;
  v.kind_ = Kind::kText;
  v.pointer_ = std::const_pointer_cast<Text>(std::move(value));
  return v;
}
Value Value::literal(std::string_view trusted) { return text(make_text(trusted)); }
Value Value::undefined(std::string message, bool unsafe) {
  Value v;
  v.kind_ = Kind::kUndefined;
  v.pointer_ = std::make_shared<Undefined>(Undefined{std::move(message), unsafe});
  return v;
}
Value Value::object(std::shared_ptr<Object> value) {
  Value v;
  v.kind_ = Kind::kObject;
  v.pointer_ = std::move(value);
  return v;
}
Value Value::list_of(std::shared_ptr<const List> value, bool tuple) {
  Value v;
  v.kind_ = tuple ? Kind::kTuple : Kind::kList;
  v.pointer_ = std::const_pointer_cast<List>(std::move(value));
  return v;
}
Value Value::dict(std::shared_ptr<const Dict> value) {
  Value v;
  v.kind_ = Kind::kDict;
  v.pointer_ = std::const_pointer_cast<Dict>(std::move(value));
  return v;
}

std::shared_ptr<const Dict> Value::share_dict() const {
  return std::static_pointer_cast<const Dict>(pointer_);
}
TextPtr Value::share_text() const { return std::static_pointer_cast<const Text>(pointer_); }

bool Value::truthy() const {
  switch (kind_) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return integer_ != 0;
    case Kind::kFloat:
      return floating_ != 0;
    case Kind::kText:
      return !bytes().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !items().empty();
    case Kind::kDict:
      return !as_dict().entries.empty();
    case Kind::kObject:
      return as_object().length().value_or(1) != 0;
  }
  return false;
}

int Value::depth() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<const List*>(pointer_.get())->depth;
    case Kind::kDict:
      return as_dict().depth;
    case Kind::kObject:
      return as_object().depth();
    default:
      return 0;
  }
}

size_t Value::weight() const {
  if (is_sequence()) return static_cast<const List*>(pointer_.get())->weight;
  return is(Kind::kDict) ? as_dict().weight : 1;
}

std::string_view Value::type_name() const {
  switch (kind_) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return as_object().type_name();
  }
  return "object";
}

std::optional<size_t> hash_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return static_cast<size_t>(value.kind());
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return hash_number(value);
    case Kind::kText:
      return std::hash<std::string>{}(value.bytes());
    case Kind::kTuple: {
      size_t seed = 7;
      for (const Value& item : value.items()) {
        const auto hash = hash_of(item);
        if (!hash) return std::nullopt;
        seed = mix(seed, *hash);
      }
      return seed;
    }
    case Kind::kList:
    case Kind::kDict:
      return std::nullopt;
    case Kind::kObject:
      // Ranges are equal by content; one bucket for all objects keeps the contract.
      return 11;
  }
  return std::nullopt;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kText:
      return a.identity() == b.identity() || a.bytes() == b.bytes();
    case Kind::kList:
    case Kind::kTuple:
      return a.identity() == b.identity() || equal_items(a.items(), b.items());
    case Kind::kDict:
      return a.identity() == b.identity() || equal_dicts(a.as_dict(), b.as_dict());
    case Kind::kUndefined:
      return true;
    case Kind::kObject:
      return a.as_object().has_equal(b.as_object());
    default:
      return true;  // missing and None have one value each; numbers were compared above
  }
}

void HashIndex::place(const Slot& entry) {
  size_t slot = entry.hash & (table_.size() - 1);
  while (table_[slot].position != npos) slot = (slot + 1) & (table_.size() - 1);
  table_[slot] = entry;
}

void HashIndex::insert(size_t hash, size_t position) {
  if ((used_ + 1) * 2 > table_.size()) {
    std::vector<Slot> old(table_.empty() ? 16 : table_.size() * 2);
    old.swap(table_);
    for (const Slot& entry : old) {
      if (entry.position != npos) place(entry);
    }
  }
  place({hash, position});
  ++used_;
}

namespace {
// Up to here a look from front to back is quicker than hashing.
constexpr size_t kLinearKeys = 8;
}  // namespace

size_t Dict::position_of(const Value& key, size_t hash) const {
  if (entries.size() <= kLinearKeys) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (equal(entries[i].first, key)) return i;
    }
    return HashIndex::npos;
  }
  return index_.find(key, hash, [this](size_t i) -> const Value& { return entries[i].first; });
}

const Value* Dict::find(const Value& key) const {
  const auto hash = hash_of(key);
  if (!hash) return nullptr;
  const size_t position = position_of(key, *hash);
  return position == HashIndex::npos ? nullptr : &entries[position].second;
}

const Value* Dict::find(std::string_view key) const {
  if (entries.size() > kLinearKeys) return find(Value::literal(key));
  for (const auto& [name, value] : entries) {
    if (name.is_text() && name.bytes() == key) return &value;
  }
  return nullptr;
}

bool Dict::set(const Value& key, Value value) {
  const auto hash = hash_of(key);
  if (!hash) return false;
  depth = std::max({depth, 1 + key.depth(), 1 + value.depth()});
  weight += key.weight() + value.weight();
  const size_t position = position_of(key, *hash);
  if (position != HashIndex::npos) {
    entries[position].second = std::move(value);
    return true;
  }
  entries.emplace_back(key, std::move(value));
  index_.insert(*hash, entries.size() - 1);
  return true;
}

Result<Value> Object::attribute(Interp&, std::string_view) { return Value(); }
Result<Value> Object::call(Interp&, Args&) {
  return invalid_argument("'" + std::string(type_name()) + "' object is not callable");
}
Value Object::item_at(size_t) const { return {}; }
std::shared_ptr<Cursor> Object::cursor(const std::shared_ptr<Object>&) { return nullptr; }

}  // namespace moe::text::jinja
