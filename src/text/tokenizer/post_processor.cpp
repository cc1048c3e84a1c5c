#include "text/tokenizer/post_processor.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

namespace moe::text {
namespace {

// Bounds how often a template can repeat the text.
constexpr size_t kMaxTemplateParts = 64;

using TokenIds = std::map<std::string, std::vector<int32_t>, std::less<>>;

Result<TokenIds> parse_special_tokens(const JsonView& view) {
  TokenIds table;
  const auto tokens = TRY(view.find("special_tokens"));
  if (!tokens) return table;
  const auto members = TRY(tokens->members());
  for (const auto& [name, token] : members) {
    const auto list = TRY(token.member("ids"));
    const auto elements = TRY(list.elements());
    std::vector<int32_t> ids;
    for (const JsonView& element : elements) {
      ids.push_back(static_cast<int32_t>(TRY(element.integer(0, kMaxTokenId))));
    }
    table.emplace(name, std::move(ids));
  }
  return table;
}

}  // namespace

Result<std::vector<PostProcessor::Part>> PostProcessor::parse_template(const JsonView& view) {
  const TokenIds table = TRY(parse_special_tokens(view));
  const auto single = TRY(view.member("single"));
  const auto elements = TRY(single.elements());
  if (elements.size() > kMaxTemplateParts) return single.wrong("at most 64 parts");
  std::vector<Part> parts;
  for (const JsonView& element : elements) {
    if (const auto sequence = TRY(element.find("Sequence"))) {
      const auto id = TRY(sequence->member("id"));
      if (TRY(id.string()) != "A") return id.wrong("\"A\", the only sequence of a single text");
      parts.push_back({true, {}});
      continue;
    }
    const auto token = TRY(element.find("SpecialToken"));
    if (!token) return element.wrong("an object with \"Sequence\" or \"SpecialToken\"");
    const auto id = TRY(token->member("id"));
    const auto row = table.find(TRY(id.string()));
    if (row == table.end()) return id.wrong("a name listed in special_tokens");
    parts.push_back({false, row->second});
  }
  return parts;
}

Result<PostProcessor> PostProcessor::parse(const JsonView& view) {
  PostProcessor processor;
  const auto type_view = TRY(view.member("type"));
  const std::string_view type = TRY(type_view.string());
  if (type == "ByteLevel") return processor;  // only moves offsets
  if (type == "TemplateProcessing") {
    processor.template_ = TRY(parse_template(view));
    processor.has_template_ = true;
    return processor;
  }
  if (type != "Sequence") {
    return type_view.not_supported(fmt::format("the post-processor \"{}\"", type));
  }
  const auto list = TRY(view.member("processors"));
  const auto elements = TRY(list.elements());
  for (const JsonView& element : elements) {
    auto inner = TRY(parse(element));
    if (!inner.has_template_) continue;
    if (processor.has_template_) return element.not_supported("a second TemplateProcessing");
    processor = std::move(inner);
  }
  return processor;
}

std::vector<int32_t> PostProcessor::apply(std::vector<int32_t> ids, bool add_special_tokens) const {
  if (!has_template_) return ids;
  std::vector<int32_t> result;
  for (const Part& part : template_) {
    if (part.is_text) {
      result.insert(result.end(), ids.begin(), ids.end());
    } else if (add_special_tokens) {
      result.insert(result.end(), part.added.begin(), part.added.end());
    }
  }
  return result;
}

}  // namespace moe::text
