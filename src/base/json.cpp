#include "base/json.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "base/errors.hpp"

namespace moe {
namespace {

// Builds the tree with nlohmann's own DOM builder and stops at the first broken rule of ours.
class LimitedBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

  LimitedBuilder(Json& tree, int max_depth)
      : Base(tree, /*allow_exceptions=*/false), max_depth_(max_depth) {}

  bool start_object(size_t size) {
    keys_.emplace_back();
    return enter() && Base::start_object(size);
  }
  bool end_object() {
    keys_.pop_back();
    --depth_;
    return Base::end_object();
  }
  bool start_array(size_t size) { return enter() && Base::start_array(size); }
  bool end_array() {
    --depth_;
    return Base::end_array();
  }
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second) {
      broken_rule_ = fmt::format("duplicate key \"{}\"", name);
      return false;
    }
    return Base::key(name);
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    broken_rule_ = fmt::format("syntax error at byte {}: {}", position, error.what());
    return false;
  }

  const std::string& broken_rule() const { return broken_rule_; }

 private:
  bool enter() {
    if (++depth_ <= max_depth_) return true;
    broken_rule_ = fmt::format("nesting is deeper than {}", max_depth_);
    return false;
  }

  int max_depth_;
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;
  std::string broken_rule_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return corrupt(fmt::format("{}: JSON text has {} bytes, the limit is {}", source, text.size(),
                               limits.max_bytes));
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
