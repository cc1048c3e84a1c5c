// Values of the interpreter: Python's None, bool, int, float, str, list, tuple, dict and a few
// objects (functions, ranges, generators, namespaces). All but objects are immutable, as jinja2's
// immutable sandbox has it, so values are shared freely. Not for use by two threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/result.hpp"
#include "text/chat/text.hpp"

namespace moe::text::jinja {

class Interp;
class Object;
class Value;
struct Dict;

enum class Kind : uint8_t {
  kMissing,  // no value at all: an unset variable, an argument not given
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kObject
};

struct Undefined {
  std::string message;
  bool unsafe;  // made by the sandbox: any use is a refusal
};

struct List {  // a tuple has the same shape
  std::vector<Value> items;
  int depth;      // levels of values inside each other, this one included
  size_t weight;  // values in the whole tree: shared parts count each time they are met
};

class Value {
 public:
  Value() = default;  // missing
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value floating(double value);
  static Value text(Text value);
  static Value text(TextPtr value);
  static Value literal(std::string_view trusted);
  static Value undefined(std::string message, bool unsafe = false);
  static Value object(std::shared_ptr<Object> value);
  // These have no limits; Interp's makers do.
  static Value list_of(std::shared_ptr<const List> value, bool tuple);
  static Value dict(std::shared_ptr<const Dict> value);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }

  bool as_bool() const { return integer_ != 0; }
  int64_t as_int() const { return integer_; }  // of a bool too: 0 or 1
  double as_float() const { return floating_; }
  double to_double() const {
    return kind_ == Kind::kFloat ? floating_ : static_cast<double>(integer_);
  }
  const Undefined& as_undefined() const { return *static_cast<const Undefined*>(pointer_.get()); }
  const Text& as_text() const { return *static_cast<const Text*>(pointer_.get()); }
  const std::string& bytes() const { return as_text().bytes; }
  const std::vector<Value>& items() const {
    return static_cast<const List*>(pointer_.get())->items;
  }
  const Dict& as_dict() const { return *static_cast<const Dict*>(pointer_.get()); }
  Object& as_object() const { return *static_cast<Object*>(pointer_.get()); }
  template <class T>
  T* object_as() const {
    return kind_ == Kind::kObject ? dynamic_cast<T*>(&as_object()) : nullptr;
  }
  std::shared_ptr<Object> share_object() const {
    return std::static_pointer_cast<Object>(pointer_);
  }
  std::shared_ptr<const Dict> share_dict() const;
  TextPtr share_text() const;
  const void* identity() const { return pointer_.get(); }

  bool truthy() const;
  int depth() const;
  size_t weight() const;
  // Python's name of the type ("str"), for messages.
  std::string_view type_name() const;

 private:
  Kind kind_ = Kind::kMissing;
  union {
    int64_t integer_ = 0;
    double floating_;
  };
  std::shared_ptr<void> pointer_;
};

// Python's hash() and ==, restricted so that equal values have equal hashes. nullopt: not hashable.
std::optional<size_t> hash_of(const Value& value);
bool equal(const Value& a, const Value& b);

// Finds values by equality among entries kept elsewhere, in insertion order.
class HashIndex {
 public:
  // Position of `key` among `count` keys given by key_at, or npos.
  template <class KeyAt>
  size_t find(const Value& key, size_t hash, const KeyAt& key_at) const {
    if (table_.empty()) return npos;
    for (size_t slot = hash & (table_.size() - 1);; slot = (slot + 1) & (table_.size() - 1)) {
      const Slot& entry = table_[slot];
      if (entry.position == npos) return npos;
      if (entry.hash == hash && equal(key_at(entry.position), key)) return entry.position;
    }
  }
  void insert(size_t hash, size_t position);
  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  struct Slot {
    size_t hash = 0;
    size_t position = npos;
  };
  void place(const Slot& entry);
  std::vector<Slot> table_;
  size_t used_ = 0;
};

struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
  size_t weight = 1;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  // Python's d[key] = value; false when the key is not hashable.
  bool set(const Value& key, Value value);

 private:
  size_t position_of(const Value& key, size_t hash) const;
  HashIndex index_;
};

// Takes items one by one, as Python's iterators do.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Missing at the end.
  virtual Result<Value> next(Interp& interp) = 0;
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  // Python's getattr; missing when there is no such attribute.
  virtual Result<Value> attribute(Interp& interp, std::string_view name);
  virtual bool is_callable() const { return false; }
  virtual Result<Value> call(Interp& interp, Args& args);
  virtual std::optional<size_t> length() const { return std::nullopt; }
  // Whether it can be indexed, and its items.
  virtual bool is_sequence() const { return false; }
  virtual Value item_at(size_t index) const;
  // Null when it cannot be iterated.
  virtual std::shared_ptr<Cursor> cursor(const std::shared_ptr<Object>& self);
  virtual bool has_equal(const Object& other) const { return this == &other; }
  virtual int depth() const { return 1; }
};

}  // namespace moe::text::jinja
