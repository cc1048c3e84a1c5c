// obj.name and obj[key], as jinja2's sandbox looks them up: a dot tries Python's attributes
// (methods) first, brackets try items first.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"

namespace moe::text::jinja {
namespace {

// Methods that change their object: the immutable sandbox treats them as undefined.
constexpr std::string_view kListMutators[] = {"append", "clear", "pop",    "reverse",
                                              "insert", "sort",  "extend", "remove"};
constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};

// Attributes that Python has and we do not: using them must not look like a missing item.
constexpr std::string_view kUnsupportedOfText[] = {"encode", "maketrans", "translate"};
constexpr std::string_view kUnsupportedOfDict[] = {"fromkeys"};
constexpr std::string_view kUnsupportedOfNumber[] = {
    "real", "imag",      "numerator",        "denominator", "conjugate",  "bit_length", "to_bytes",
    "hex",  "bit_count", "as_integer_ratio", "from_bytes",  "is_integer", "fromhex"};

template <size_t N>
bool is_among(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Error unsupported_attribute(const Value& object, std::string_view name) {
  return unsupported(fmt::format("the attribute '{}' of a value of type '{}' is not supported",
                                 name, object.type_name()));
}

Value unsafe(const Value& object, std::string_view name) {
  return Value::undefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.type_name()),
      true);
}

// Python's attributes that all objects have and the sandbox hides.
bool is_hidden(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "__class__",        "__doc__",          "__init__",      "__new__",     "__dict__",
      "__repr__",         "__str__",          "__hash__",      "__eq__",      "__ne__",
      "__lt__",           "__le__",           "__gt__",        "__ge__",      "__len__",
      "__iter__",         "__add__",          "__mul__",       "__mod__",     "__contains__",
      "__getitem__",      "__getattribute__", "__setattr__",   "__delattr__", "__dir__",
      "__format__",       "__reduce__",       "__reduce_ex__", "__sizeof__",  "__subclasshook__",
      "__init_subclass__"};
  return is_among(kNames, name);
}

// getattr(object, name): missing when Python has no such attribute.
Result<Value> python_attribute(Interp& interp, const Value& object, std::string_view name) {
  if (object.is(Kind::kObject)) {
    Value own = TRY(object.as_object().attribute(interp, name));
    if (!own.is(Kind::kMissing) || object.object_as<Namespace>() != nullptr) return own;
  }
  if (is_hidden(name)) return unsafe(object, name);
  const Method* method = nullptr;
  switch (object.kind()) {
    case Kind::kText:
      if (is_among(kUnsupportedOfText, name)) return unsupported_attribute(object, name);
      method = find_text_method(name);
      break;
    case Kind::kDict:
      if (is_among(kDictMutators, name)) return unsafe(object, name);
      if (is_among(kUnsupportedOfDict, name)) return unsupported_attribute(object, name);
      method = find_dict_method(name);
      break;
    case Kind::kList:
      if (is_among(kListMutators, name)) return unsafe(object, name);
      method = find_list_method(name);
      break;
    case Kind::kTuple:
      if (name != "copy") method = find_list_method(name);
      break;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      if (is_among(kUnsupportedOfNumber, name)) return unsupported_attribute(object, name);
      break;
    default:
      break;
  }
  if (method == nullptr) return Value();
  return interp.make_object(std::make_shared<BoundMethod>(*method, object));
}

// A position in a sequence of `size`; nullopt when it is out of range.
std::optional<size_t> position_of(int64_t index, size_t size) {
  const auto length = static_cast<int64_t>(size);
  if (index < 0) index += length;
  if (index < 0 || index >= length) return std::nullopt;
  return static_cast<size_t>(index);
}

// object[key]: missing when there is no such item.
Result<Value> python_item(Interp& interp, const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) return undefined_error(object);
  if (object.is(Kind::kDict)) {
    const Value* found = object.as_dict().find(key);
    return found == nullptr ? Value() : *found;
  }
  if (!key.is_integral()) return Value();
  if (object.is_sequence()) {
    const auto at = position_of(key.as_int(), object.items().size());
    return at ? object.items()[*at] : Value();
  }
  if (object.is_text()) {
    const Text& text = object.as_text();
    const auto at = position_of(key.as_int(), text.length);
    if (!at) return Value();
    const size_t begin = byte_offset(text, *at);
    size_t end = begin;
    decode_next(text.bytes, end);
    TextBuilder out = interp.text_builder();
    out.append_slice(text, begin, end);
    return interp.make_text(std::move(out));
  }
  if (object.is(Kind::kObject) && object.as_object().is_sequence()) {
    const auto at = position_of(key.as_int(), object.as_object().length().value_or(0));
    if (at) return object.as_object().item_at(*at);
  }
  return Value();
}

}  // namespace

Result<Value> Interp::attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined)) {
    return is_hidden(name) ? Result<Value>(unsafe(object, name)) : undefined_error(object);
  }
  Value found = TRY(python_attribute(*this, object, name));
  if (!found.is(Kind::kMissing)) return found;
  if (object.is(Kind::kDict)) {
    if (const Value* value = object.as_dict().find(name)) return *value;
  }
  return Value::undefined(
      fmt::format("'{}' object has no attribute '{}'", object.type_name(), name));
}

Result<Value> Interp::item(const Value& object, const Value& key) {
  Value found = TRY(python_item(*this, object, key));
  if (!found.is(Kind::kMissing)) return found;
  if (key.is_text()) {
    found = TRY(python_attribute(*this, object, key.bytes()));
    if (!found.is(Kind::kMissing)) return found;
    return Value::undefined(
        fmt::format("'{}' object has no attribute '{}'", object.type_name(), key.bytes()));
  }
  return Value::undefined(fmt::format("'{}' object has no such element", object.type_name()));
}

}  // namespace moe::text::jinja
