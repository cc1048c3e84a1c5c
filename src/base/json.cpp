#include "base/json.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/errors.hpp"

namespace moe {
namespace {

// Builds the tree and stops at the first broken rule of ours. nlohmann's own builder looks each key
// up in the members so far, which is quadratic with kept key order; here a set finds duplicates.
class LimitedBuilder {
 public:
  LimitedBuilder(Json& root, int max_depth) : root_(root), max_depth_(max_depth) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // not part of JSON text
  bool start_object(size_t) { return enter(Json::object()); }
  bool end_object() { return leave(); }
  bool start_array(size_t) { return enter(Json::array()); }
  bool end_array() { return leave(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) {
      broken_rule_ = fmt::format("duplicate key \"{}\"", name);
      return false;
    }
    members(*open_.back().value).emplace_back(std::move(name), nullptr);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    broken_rule_ = fmt::format("syntax error at byte {}: {}", position, error.what());
    return false;
  }

  const std::string& broken_rule() const { return broken_rule_; }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;  // of an object
  };

  // The members as a plain vector, to append without a search.
  static std::vector<std::pair<const std::string, Json>>& members(Json& object) {
    return object.get_ref<Json::object_t&>();
  }

  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::forward<Value>(value));
      return &parent.back();
    }
    Json& member = members(parent).back().second;
    member = std::forward<Value>(value);
    return &member;
  }
  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  bool enter(Json container) {
    if (open_.size() == static_cast<size_t>(max_depth_)) {
      broken_rule_ = fmt::format("nesting is deeper than {}", max_depth_);
      return false;
    }
    open_.push_back({place(std::move(container)), {}});
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  int max_depth_;
  std::vector<Open> open_;
  std::string broken_rule_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return corrupt(fmt::format("{}: JSON text has {} bytes, the limit is {}", source, text.size(),
                               limits.max_bytes),
                   "use a smaller file");
  }
  // The parser takes a NUL for the end of its input and would not see what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return corrupt(fmt::format("{}: syntax error at byte {}: a NUL byte", source, nul),
                   "restore the file from its source");
  }
  Json root;
  LimitedBuilder builder(root, limits.max_depth);
  const bool parsed = Json::sax_parse(text.begin(), text.end(), &builder);
  if (!parsed) {
    return corrupt(fmt::format("{}: {}", source, builder.broken_rule()),
                   "restore the file from its source");
  }
  return root;
}

}  // namespace moe
