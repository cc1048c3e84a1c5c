#include "text/prompt/chat_prompt.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"

namespace moe::text {
namespace {

// Names that the request itself fills.
constexpr std::string_view kReservedVariables[] = {"messages", "tools", "documents",
                                                   "add_generation_prompt"};

Status check_messages(const Json& messages) {
  constexpr const char* kFix = "pass a list of objects with \"role\" and \"content\"";
  if (!messages.is_array()) {
    return invalid_argument(fmt::format("messages: wanted a list, got {}", messages.type_name()),
                            kFix);
  }
  if (messages.empty() || messages.size() > kMaxMessages) {
    return invalid_argument(
        fmt::format("messages: wanted 1 to {} messages, got {}", kMaxMessages, messages.size()),
        kFix);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object()) {
      return invalid_argument(
          fmt::format("messages[{}]: wanted an object, got {}", i, messages[i].type_name()), kFix);
    }
    const auto role = messages[i].find("role");
    if (role == messages[i].end() || !role->is_string()) {
      return invalid_argument(
          fmt::format("messages[{}].role: wanted a string, got {}", i,
                      role == messages[i].end() ? "nothing" : role->type_name()),
          kFix);
    }
  }
  return {};
}

Status check_options(const ChatPromptOptions& options) {
  const Json& tools = options.tools;
  if (!tools.is_null() && (!tools.is_array() || tools.size() > kMaxTools)) {
    const std::string got =
        tools.is_array() ? fmt::format("{} of them", tools.size()) : tools.type_name();
    return invalid_argument(
        fmt::format("tools: wanted a list of at most {} objects, got {}", kMaxTools, got),
        "pass a list of tool descriptions, or none");
  }
  if (!options.variables.is_object()) {
    return invalid_argument(
        fmt::format("template variables: wanted an object, got {}", options.variables.type_name()),
        "pass an object such as {\"enable_thinking\": false}");
  }
  for (const std::string_view name : kReservedVariables) {
    if (!options.variables.contains(name)) continue;
    return invalid_argument(
        fmt::format("template variables: \"{}\" is filled by the request itself", name),
        "leave it out and use the request's own field");
  }
  return {};
}

bool has_tools(const ChatPromptOptions& options) {
  return options.tools.is_array() && !options.tools.empty();
}

}  // namespace

Result<ChatPrompt::Loaded> ChatPrompt::parse(const ChatTemplateSource& source) {
  return Loaded{TRY(ChatTemplate::parse(source.text, source.name)), source.special_tokens};
}

Result<ChatPrompt> ChatPrompt::load(const std::filesystem::path& model_dir,
                                    std::shared_ptr<const Tokenizer> tokenizer) {
  CHECK(tokenizer != nullptr);
  const ChatTemplateSource plain = TRY(load_chat_template(model_dir, /*for_tools=*/false));
  const ChatTemplateSource for_tools = TRY(load_chat_template(model_dir, /*for_tools=*/true));
  std::optional<Result<Loaded>> tools_template;
  if (for_tools.text != plain.text) tools_template = parse(for_tools);
  return ChatPrompt(TRY(parse(plain)), std::move(tools_template), std::move(tokenizer));
}

Result<ChatTemplate::Rendering> ChatPrompt::render_marked(const Json& messages,
                                                          const ChatPromptOptions& options) const {
  TRY(check_messages(messages));
  TRY(check_options(options));
  const bool other_template = has_tools(options) && for_tools_.has_value();
  if (other_template && !for_tools_->ok()) return for_tools_->error();
  const Loaded& chosen = other_template ? for_tools_->value() : plain_;
  // As transformers: further variables win over the special tokens of the folder.
  Json variables = chosen.special_tokens;
  for (const auto& [name, value] : options.variables.items()) variables[name] = value;
  variables["messages"] = messages;
  variables["tools"] = has_tools(options) ? options.tools : Json(nullptr);
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = options.add_generation_prompt;
  return chosen.chat_template.render_marked(variables);
}

Result<std::string> ChatPrompt::render(const Json& messages,
                                       const ChatPromptOptions& options) const {
  return TRY(render_marked(messages, options)).text;
}

Result<std::vector<int32_t>> ChatPrompt::encode(const Json& messages,
                                                const ChatPromptOptions& options) const {
  const ChatTemplate::Rendering rendering = TRY(render_marked(messages, options));
  const std::string_view text = rendering.text;
  std::vector<Segment> segments;
  size_t done = 0;
  for (const auto& [begin, end] : rendering.untrusted) {
    if (begin > done) segments.push_back({text.substr(done, begin - done), SpecialTokens::kParse});
    segments.push_back({text.substr(begin, end - begin), SpecialTokens::kPlainText});
    done = end;
  }
  if (done < text.size()) segments.push_back({text.substr(done), SpecialTokens::kParse});
  return tokenizer_->encode_segments(segments, /*add_special_tokens=*/false);
}

}  // namespace moe::text
