// The objects of the interpreter: what is not a plain Python value.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/ast.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/value.hpp"

namespace moe::text::jinja {

// namespace(...): the only value that templates can change.
class Namespace : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  Result<Value> attribute(Interp& interp, std::string_view name) override;
  void set(std::string_view name, Value value);
  void clear() { values_.clear(); }
  // Reachable values may contain the namespace itself; Interp breaks such cycles at the end.
  int depth() const override { return 1; }

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

class Macro : public Object {
 public:
  Macro(const Function& function, Activation* home) : function_(function), home_(home) {}
  std::string_view type_name() const override { return "Macro"; }
  Result<Value> attribute(Interp& interp, std::string_view name) override;
  bool is_callable() const override { return true; }
  Result<Value> call(Interp& interp, Args& args) override {
    return interp.call_function(function_, home_, args);
  }

 private:
  const Function& function_;
  Activation* home_;
};

class NativeFunction : public Object {
 public:
  using Run = Result<Value> (*)(Interp& interp, Args& args);
  NativeFunction(std::string_view name, Run run) : name_(name), run_(run) {}
  std::string_view type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interp& interp, Args& args) override { return run_(interp, args); }
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
  Run run_;
};

// "text".upper before it is called.
class BoundMethod : public Object {
 public:
  BoundMethod(const Method& method, Value self) : method_(method), self_(std::move(self)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interp& interp, Args& args) override {
    return method_.run(interp, self_, args);
  }
  int depth() const override { return 1 + self_.depth(); }

 private:
  const Method& method_;
  Value self_;
};

class Range : public Object {
 public:
  Range(int64_t start, int64_t stop, int64_t step, size_t count)
      : start_(start), stop_(stop), step_(step), count_(count) {}
  std::string_view type_name() const override { return "range"; }
  std::optional<size_t> length() const override { return count_; }
  bool is_sequence() const override { return true; }
  Value item_at(size_t index) const override {
    return Value::integer(start_ + step_ * static_cast<int64_t>(index));
  }
  std::shared_ptr<Cursor> cursor(const std::shared_ptr<Object>& self) override;
  bool has_equal(const Object& other) const override;
  std::string print() const;
  int64_t step() const { return step_; }
  int64_t start() const { return start_; }

 private:
  int64_t start_;
  int64_t stop_;
  int64_t step_;
  size_t count_;
};

// dict.items(), keys() and values().
class DictView : public Object {
 public:
  enum class Part { kItems, kKeys, kValues };
  DictView(Part part, std::shared_ptr<const Dict> dict) : part_(part), dict_(std::move(dict)) {}
  std::string_view type_name() const override;
  std::optional<size_t> length() const override { return dict_->entries.size(); }
  Value item_at(size_t index) const override;
  std::shared_ptr<Cursor> cursor(const std::shared_ptr<Object>& self) override;
  bool has_equal(const Object& other) const override;
  int depth() const override { return 2 + dict_->depth; }

 private:
  Part part_;
  std::shared_ptr<const Dict> dict_;
};

// What lazy filters return: gives its items once, each when it is asked for.
class Generator : public Object, public Cursor {
 public:
  using Next = std::function<Result<Value>(Interp&)>;
  // `depth`: of the values that it holds and gives.
  Generator(Next next, int depth) : next_(std::move(next)), depth_(depth) {}
  std::string_view type_name() const override { return "generator"; }
  std::shared_ptr<Cursor> cursor(const std::shared_ptr<Object>& self) override {
    return std::static_pointer_cast<Generator>(self);
  }
  Result<Value> next(Interp& interp) override;
  int depth() const override { return depth_ + 1; }

 private:
  Next next_;
  bool running_ = false;
  int depth_;
};

// One group of the filter groupby: a pair with the names grouper and list.
class Group : public Object {
 public:
  Group(Value grouper, Value list) : grouper_(std::move(grouper)), list_(std::move(list)) {}
  std::string_view type_name() const override { return "tuple"; }
  Result<Value> attribute(Interp& interp, std::string_view name) override;
  std::optional<size_t> length() const override { return 2; }
  bool is_sequence() const override { return true; }
  Value item_at(size_t index) const override { return index == 0 ? grouper_ : list_; }
  std::shared_ptr<Cursor> cursor(const std::shared_ptr<Object>& self) override;
  int depth() const override { return 1 + std::max(grouper_.depth(), list_.depth()); }

 private:
  Value grouper_;
  Value list_;
};

// The variable `loop`.
class LoopContext : public Object {
 public:
  LoopContext(std::shared_ptr<Cursor> cursor, const Value& iterable)
      : cursor_(std::move(cursor)), iterable_(iterable) {}
  std::string_view type_name() const override { return "LoopContext"; }
  Result<Value> attribute(Interp& interp, std::string_view name) override;
  Result<Value> call(Interp& interp, Args& args) override;
  bool is_callable() const override { return true; }
  int depth() const override { return 2 + iterable_.depth(); }

  // Ends the loop and lets go of all values: what a loop holds could hold the loop.
  void finish();
  // The next item as current; missing at the end.
  Result<Value> advance(Interp& interp);
  Result<Value> cycle(Args& args) const;
  Result<Value> changed(Interp& interp, Args& args);

 private:
  Result<Value> peek(Interp& interp);
  Result<int64_t> total(Interp& interp);

  std::shared_ptr<Cursor> cursor_;
  Value iterable_;
  int64_t index0_ = -1;
  int64_t total_ = -1;
  bool finished_ = false;
  Value before_;
  Value current_;
  Value after_;
  Value last_changed_;
};

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  Result<Value> attribute(Interp& interp, std::string_view name) override;
  int depth() const override;
  Value next();
  void reset() { position_ = 0; }

 private:
  std::vector<Value> items_;
  size_t position_ = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interp& interp, Args& args) override;
  int depth() const override { return 1 + separator_.depth(); }

 private:
  Value separator_;
  bool used_ = false;
};

// A cursor over what has a length and items by position.
class IndexCursor : public Cursor {
 public:
  explicit IndexCursor(std::shared_ptr<Object> object) : object_(std::move(object)) {}
  Result<Value> next(Interp& interp) override;

 private:
  std::shared_ptr<Object> object_;
  size_t index_ = 0;
};

}  // namespace moe::text::jinja
