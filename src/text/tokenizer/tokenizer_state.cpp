#include "text/tokenizer/tokenizer_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/errors.hpp"
#include "text/tokenizer/tokenizer_json.hpp"

namespace moe::text {
namespace {

Result<AddedToken> parse_added_token(const JsonView& view) {
  AddedToken token;
  token.id = static_cast<int32_t>(TRY(view.integer_at("id", 0, kMaxTokenId)));
  token.content = TRY(view.string_at("content"));
  token.special = TRY(view.boolean_at("special", false));
  token.lstrip = TRY(view.boolean_at("lstrip", false));
  token.rstrip = TRY(view.boolean_at("rstrip", false));
  token.single_word = TRY(view.boolean_at("single_word", false));
  token.normalized = TRY(view.boolean_at("normalized", !token.special));
  return token;
}

// The id must be free, or that of the same text in the model's vocabulary.
Status check_added_token(const TokenizerParts& parts, const AddedToken& token,
                         const JsonView& view) {
  if (token.content.size() > kMaxAddedTokenBytes) {
    return view.wrong(fmt::format("content of {} bytes", token.content.size()),
                      fmt::format("at most {}", kMaxAddedTokenBytes));
  }
  if (parts.added_by_content.contains(token.content)) {
    return view.wrong(fmt::format("\"{}\" a second time", token.content), "each content once");
  }
  if (parts.added_by_id.contains(token.id)) {
    return view.wrong(fmt::format("id {} a second time", token.id), "each id once");
  }
  const Vocab& vocab = parts.bpe->vocab();
  const auto model_id = vocab.find(token.content);
  if (model_id && *model_id != token.id) {
    return view.wrong(fmt::format("id {} for \"{}\"", token.id, token.content),
                      fmt::format("{}, its id in model.vocab", *model_id));
  }
  const auto model_text = vocab.text_of(token.id);
  if (model_text && *model_text != token.content) {
    return view.wrong(
        fmt::format("id {} for \"{}\"", token.id, token.content),
        fmt::format("an id that model.vocab does not use (there it is \"{}\")", *model_text));
  }
  return {};
}

Status add_token(TokenizerParts& parts, AddedToken token, const JsonView& view) {
  TRY(check_added_token(parts, token, view));
  TaggedText text{token.content, {}};
  if (token.normalized && parts.normalizer != nullptr) TRY(parts.normalizer->apply(text));
  const TokenRule rule{token.id, token.special, token.lstrip, token.rstrip, token.single_word};
  TokenMatcher& matcher = token.normalized ? parts.normalized_tokens : parts.raw_tokens;
  // A token that normalizes to nothing is never found.
  if (!text.text.empty() && !matcher.add(text.text, rule)) {
    return view.wrong(
        fmt::format("\"{}\", which normalizes to the text of another token", token.content),
        "tokens with different texts");
  }
  const size_t index = parts.added.size();
  parts.added_by_content.emplace(token.content, index);
  parts.added_by_id.emplace(token.id, index);
  parts.vocab_size = std::max(parts.vocab_size, token.id + 1);
  parts.added_text.push_back(std::move(text.text));
  parts.added.push_back(std::move(token));
  return {};
}

Status add_tokens(TokenizerParts& parts, const JsonView& root) {
  const auto list = TRY(root.find("added_tokens"));
  if (list) {
    const auto elements = TRY(list->elements());
    for (const JsonView& element : elements) {
      AddedToken token = TRY(parse_added_token(element));
      // The library passes over empty tokens, too.
      if (!token.content.empty()) TRY(add_token(parts, std::move(token), element));
    }
  }
  std::unordered_set<std::string_view> specials;
  for (const AddedToken& token : parts.added) {
    if (token.special) specials.insert(token.content);
  }
  // The library skips by the text the decoder would get, not by id.
  for (const std::string& text : parts.added_text) {
    parts.added_skipped.push_back(specials.contains(text));
  }
  return {};
}

Status check_version(const JsonView& root) {
  const auto version = TRY(root.find("version"));
  if (!version) return {};
  const std::string_view name = TRY(version->string());
  if (name != "1.0") return version->not_supported(fmt::format("version \"{}\"", name));
  return {};
}

Result<Bpe> build_model(const JsonView& root, TokenizerJson& json) {
  const auto model = TRY(root.member("model"));
  const auto type = TRY(model.find("type"));
  if (type && TRY(type->string()) != "BPE") {
    return type->not_supported(fmt::format("the model \"{}\"", TRY(type->string())));
  }
  const auto vocab = TRY(model.member("vocab"));
  if (!json.has_vocab) return vocab.wrong("an object of token texts and ids");
  const auto merges = TRY(model.member("merges"));
  if (!json.has_merges) return merges.wrong("an array of merges");
  return Bpe::create(model, std::move(json.tables));
}

}  // namespace

std::optional<std::string_view> TokenizerParts::text_to_decode(int32_t id,
                                                               bool skip_special_tokens) const {
  const auto found = added_by_id.find(id);
  if (found == added_by_id.end()) return bpe->vocab().text_of(id);
  if (skip_special_tokens && added_skipped[found->second]) return std::nullopt;
  return added_text[found->second];
}

Result<TokenizerParts> build_tokenizer_parts(std::string_view text, std::string_view source) {
  auto json = TRY(parse_tokenizer_json(text, source));
  const JsonView root(json.tree, source, "");
  TRY(check_version(root));
  TokenizerParts parts;
  parts.bpe = TRY(build_model(root, json));
  parts.vocab_size = parts.bpe->vocab().size();
  if (const auto view = TRY(root.find("normalizer"))) {
    parts.normalizer = TRY(parse_normalizer(*view));
  }
  if (const auto view = TRY(root.find("pre_tokenizer"))) {
    parts.pre_tokenizer = TRY(parse_pre_tokenizer(*view));
  }
  if (const auto view = TRY(root.find("post_processor"))) {
    parts.post_processor = TRY(PostProcessor::parse(*view));
  }
  if (const auto view = TRY(root.find("decoder"))) parts.decoder = TRY(Decoder::parse(*view));
  TRY(add_tokens(parts, root));
  return parts;
}

}  // namespace moe::text
