#include "text/chat/objects.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/chat/args.hpp"

namespace moe::text::jinja {
namespace {

constexpr Method kLoopCycle{"cycle", [](Interp&, const Value& self, Args& args) -> Result<Value> {
                              return self.object_as<LoopContext>()->cycle(args);
                            }};
constexpr Method kLoopChanged{"changed",
                              [](Interp& interp, const Value& self, Args& args) -> Result<Value> {
                                return self.object_as<LoopContext>()->changed(interp, args);
                              }};
constexpr Method kCyclerNext{"next", [](Interp&, const Value& self, Args&) -> Result<Value> {
                               return self.object_as<Cycler>()->next();
                             }};
constexpr Method kCyclerReset{"reset", [](Interp&, const Value& self, Args&) -> Result<Value> {
                                self.object_as<Cycler>()->reset();
                                return Value::none();
                              }};

Value bound_method(const Method& method, Object& object) {
  return Value::object(
      std::make_shared<BoundMethod>(method, Value::object(object.shared_from_this())));
}

}  // namespace

Result<Value> IndexCursor::next(Interp&) {
  if (index_ >= object_->length().value_or(0)) return Value();
  return object_->item_at(index_++);
}

Result<Value> Namespace::attribute(Interp&, std::string_view name) {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return Value();
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : values_) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(std::string(name), std::move(value));
}

Result<Value> Macro::attribute(Interp& interp, std::string_view name) {
  if (name == "name") {
    return function_.name.empty() ? Value::none() : Value::literal(function_.name);
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const std::string& parameter : function_.parameters) {
      names.push_back(Value::literal(parameter));
    }
    return interp.make_tuple(std::move(names));
  }
  if (name == "caller") return Value::boolean(function_.caller_slot >= 0);
  if (name == "catch_kwargs") return Value::boolean(function_.kwargs_slot >= 0);
  if (name == "catch_varargs") return Value::boolean(function_.varargs_slot >= 0);
  return Value();
}

std::shared_ptr<Cursor> Range::cursor(const std::shared_ptr<Object>& self) {
  return std::make_shared<IndexCursor>(self);
}

bool Range::has_equal(const Object& other) const {
  const auto* range = dynamic_cast<const Range*>(&other);
  if (range == nullptr || range->count_ != count_) return false;
  return count_ == 0 || (range->start_ == start_ && (count_ == 1 || range->step_ == step_));
}

std::string_view DictView::type_name() const {
  switch (part_) {
    case Part::kItems:
      return "dict_items";
    case Part::kKeys:
      return "dict_keys";
    case Part::kValues:
      return "dict_values";
  }
  return "dict_view";
}

Value DictView::item_at(size_t index) const {
  const auto& [key, value] = dict_->entries[index];
  if (part_ == Part::kKeys) return key;
  if (part_ == Part::kValues) return value;
  auto pair = std::make_shared<List>();
  pair->items = {key, value};
  pair->depth = 1 + std::max(key.depth(), value.depth());
  pair->weight = 1 + key.weight() + value.weight();
  return Value::list_of(std::move(pair), true);
}

std::shared_ptr<Cursor> DictView::cursor(const std::shared_ptr<Object>& self) {
  return std::make_shared<IndexCursor>(self);
}

bool DictView::has_equal(const Object& other) const {
  const auto* view = dynamic_cast<const DictView*>(&other);
  if (view == nullptr || view->part_ != part_) return false;
  if (this == view) return true;
  if (part_ == Part::kValues || dict_->entries.size() != view->dict_->entries.size()) return false;
  for (const auto& [key, value] : dict_->entries) {
    const Value* found = view->dict_->find(key);
    if (found == nullptr || (part_ == Part::kItems && !equal(value, *found))) return false;
  }
  return true;
}

Result<Value> Group::attribute(Interp&, std::string_view name) {
  if (name == "grouper") return grouper_;
  return name == "list" ? list_ : Value();
}

std::shared_ptr<Cursor> Group::cursor(const std::shared_ptr<Object>& self) {
  return std::make_shared<IndexCursor>(self);
}

Result<Value> Generator::next(Interp& interp) {
  if (next_ == nullptr) return Value();
  if (running_) return invalid_argument("generator already executing");
  running_ = true;
  auto item = next_(interp);
  running_ = false;
  if (!item.ok() || item->is(Kind::kMissing)) next_ = nullptr;
  return item;
}

Result<Value> LoopContext::advance(Interp& interp) {
  Value next = TRY(peek(interp));
  after_ = Value();
  if (next.is(Kind::kMissing)) return next;
  TRY(interp.charge_step());
  ++index0_;
  before_ = std::move(current_);
  current_ = next;
  return next;
}

Result<Value> LoopContext::peek(Interp& interp) {
  if (after_.is(Kind::kMissing)) after_ = TRY(cursor_->next(interp));
  return after_;
}

Result<int64_t> LoopContext::total(Interp& interp) {
  if (total_ >= 0) return total_;
  std::optional<size_t> known;
  if (iterable_.is_sequence()) known = iterable_.items().size();
  if (iterable_.is_text()) known = iterable_.as_text().length;
  if (iterable_.is(Kind::kDict)) known = iterable_.as_dict().entries.size();
  if (iterable_.is(Kind::kObject)) known = iterable_.as_object().length();
  if (!known) {
    std::vector<Value> rest;
    while (true) {
      Value item = TRY(cursor_->next(interp));
      if (item.is(Kind::kMissing)) break;
      TRY(interp.charge_step());
      rest.push_back(std::move(item));
    }
    known = rest.size() + static_cast<size_t>(index0_ + 1) + (after_.is(Kind::kMissing) ? 0 : 1);
    const Value list = TRY(interp.make_list(std::move(rest)));
    cursor_ = TRY(interp.iterate(list));
  }
  total_ = static_cast<int64_t>(*known);
  return total_;
}

void LoopContext::finish() {
  finished_ = true;
  cursor_ = nullptr;
  for (Value* held : {&iterable_, &before_, &current_, &after_, &last_changed_}) *held = Value();
}

Result<Value> LoopContext::attribute(Interp& interp, std::string_view name) {
  if (finished_) return unsupported("the variable 'loop' is used after its loop has ended");
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(TRY(peek(interp)).is(Kind::kMissing));
  if (name == "length") return Value::integer(TRY(total(interp)));
  if (name == "revindex") return Value::integer(TRY(total(interp)) - index0_);
  if (name == "revindex0") return Value::integer(TRY(total(interp)) - index0_ - 1);
  if (name == "depth") return Value::integer(1);
  if (name == "depth0") return Value::integer(0);
  if (name == "previtem") {
    return before_.is(Kind::kMissing) ? Value::undefined("there is no previous item") : before_;
  }
  if (name == "nextitem") {
    Value next = TRY(peek(interp));
    return next.is(Kind::kMissing) ? Value::undefined("there is no next item") : next;
  }
  if (name == "cycle") return bound_method(kLoopCycle, *this);
  if (name == "changed") return bound_method(kLoopChanged, *this);
  return Value();
}

Result<Value> LoopContext::call(Interp&, Args&) {
  return invalid_argument("the loop must be marked 'recursive' to be called");
}

Result<Value> LoopContext::cycle(Args& args) const {
  if (finished_) return unsupported("the variable 'loop' is used after its loop has ended");
  if (args.positional.empty()) return invalid_argument("loop.cycle() needs at least one item");
  return args.positional[static_cast<size_t>(index0_) % args.positional.size()];
}

Result<Value> LoopContext::changed(Interp& interp, Args& args) {
  if (finished_) return unsupported("the variable 'loop' is used after its loop has ended");
  Value now = TRY(interp.make_tuple(std::move(args.positional)));
  const bool is_changed = last_changed_.is(Kind::kMissing) || !equal(last_changed_, now);
  last_changed_ = std::move(now);
  return Value::boolean(is_changed);
}

int Cycler::depth() const {
  int deepest = 0;
  for (const Value& item : items_) deepest = std::max(deepest, item.depth());
  return deepest + 1;
}

Value Cycler::next() {
  Value item = items_[position_];
  position_ = (position_ + 1) % items_.size();
  return item;
}

Result<Value> Cycler::attribute(Interp&, std::string_view name) {
  if (name == "next") return bound_method(kCyclerNext, *this);
  if (name == "reset") return bound_method(kCyclerReset, *this);
  if (name == "current") return items_[position_];
  return Value();
}

Result<Value> Joiner::call(Interp&, Args&) {
  if (used_) return separator_;
  used_ = true;
  return Value::literal("");
}

}  // namespace moe::text::jinja
