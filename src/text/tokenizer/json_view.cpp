#include "text/tokenizer/json_view.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

constexpr size_t kMaxQuotedBytes = 60;

std::string described(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxQuotedBytes) text = fmt::format("{} value", value.type_name());
  return text;
}

}  // namespace

Error JsonView::wrong(std::string_view got, std::string_view wanted) const {
  return corrupt(fmt::format("{}: {}: got {}, wanted {}", source_, path_, got, wanted),
                 "restore tokenizer.json from the model's source");
}

Error JsonView::wrong(std::string_view wanted) const { return wrong(described(*value_), wanted); }

Error JsonView::not_supported(std::string_view construct) const {
  return unsupported(
      fmt::format("{}: {}: {} is not supported", source_, path_, construct),
      "use a model whose tokenizer is a byte-level or SentencePiece-style BPE of a usual kind");
}

Result<std::optional<JsonView>> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) return wrong("an object");
  const auto found = value_->find(std::string(key));
  if (found == value_->end() || found->is_null()) return std::optional<JsonView>();
  std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  return std::optional<JsonView>(JsonView(*found, source_, std::move(path)));
}

Result<JsonView> JsonView::member(std::string_view key) const {
  auto found = TRY(find(key));
  if (!found) {
    return corrupt(fmt::format("{}: {}: member \"{}\" is missing", source_, path_, key),
                   "restore tokenizer.json from the model's source");
  }
  return std::move(*found);
}

Result<std::vector<JsonView>> JsonView::elements() const {
  if (!value_->is_array()) return wrong("an array");
  std::vector<JsonView> views;
  views.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    views.emplace_back((*value_)[i], source_, fmt::format("{}[{}]", path_, i));
  }
  return views;
}

Result<std::vector<std::pair<std::string, JsonView>>> JsonView::members() const {
  if (!value_->is_object()) return wrong("an object");
  std::vector<std::pair<std::string, JsonView>> views;
  for (const auto& [key, value] : value_->items()) {
    views.emplace_back(key, JsonView(value, source_, fmt::format("{}.{}", path_, key)));
  }
  return views;
}

Result<std::string_view> JsonView::string() const {
  if (!value_->is_string()) return wrong("a string");
  return std::string_view(value_->get_ref<const std::string&>());
}

Result<bool> JsonView::boolean() const {
  if (!value_->is_boolean()) return wrong("true or false");
  return value_->get_ref<const bool&>();
}

std::optional<double> JsonView::number() const {
  if (!value_->is_number()) return std::nullopt;
  return value_->get<double>();
}

Result<int64_t> JsonView::integer(int64_t least, int64_t most) const {
  const std::string wanted = fmt::format("an integer from {} to {}", least, most);
  if (!value_->is_number_integer()) return wrong(wanted);
  if (value_->is_number_unsigned()) {
    const auto value = value_->get_ref<const uint64_t&>();
    if (most < 0 || value > static_cast<uint64_t>(most)) return wrong(wanted);
    if (static_cast<int64_t>(value) < least) return wrong(wanted);
    return static_cast<int64_t>(value);
  }
  const auto value = value_->get_ref<const int64_t&>();
  if (value < least || value > most) return wrong(wanted);
  return value;
}

Result<std::string_view> JsonView::string_at(std::string_view key) const {
  const auto view = TRY(member(key));
  return view.string();
}

Result<bool> JsonView::boolean_at(std::string_view key, std::optional<bool> fallback) const {
  if (fallback) {
    const auto view = TRY(find(key));
    if (!view) return *fallback;
    return view->boolean();
  }
  const auto view = TRY(member(key));
  return view.boolean();
}

Result<int64_t> JsonView::integer_at(std::string_view key, int64_t least, int64_t most) const {
  const auto view = TRY(member(key));
  return view.integer(least, most);
}

Result<std::string_view> JsonView::character_at(std::string_view key) const {
  const auto view = TRY(member(key));
  const std::string_view text = TRY(view.string());
  if (text.empty() || code_point_at(text, 0).size != text.size()) {
    return view.wrong("a string of one character");
  }
  return text;
}

}  // namespace moe::text
