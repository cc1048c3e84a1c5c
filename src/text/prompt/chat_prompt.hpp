// From chat messages to the token ids of a prompt: the model folder's template is rendered as
// transformers does, then encoded without the post-processor's tokens, since a template writes its
// own. Special tokens that the template wrote are parsed; the same text in a message stays text.
// A ChatPrompt is immutable after loading: any number of threads may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "moe/result.hpp"
#include "text/chat/chat_template.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace moe::text {

inline constexpr size_t kMaxMessages = 65'536;
inline constexpr size_t kMaxTools = 4096;

struct ChatPromptOptions {
  Json tools;                         // a list of tool descriptions; null = none
  bool add_generation_prompt = true;  // ends the prompt where the assistant's answer begins
  Json variables = Json::object();    // further variables of the template, such as enable_thinking
};

class ChatPrompt {
 public:
  // Reads and parses the templates of a model folder. Errors: not_found when the folder has none,
  // and those of ChatTemplate::parse.
  static Result<ChatPrompt> load(const std::filesystem::path& model_dir,
                                 std::shared_ptr<const Tokenizer> tokenizer);

  // `messages`: a list of objects, each with "role" and whatever the template reads ("content",
  // "tool_calls", ...). Errors: invalid_argument for another shape, with the message's number, and
  // those of the template and the tokenizer.
  Result<std::vector<int32_t>> encode(const Json& messages,
                                      const ChatPromptOptions& options = {}) const;
  // The text that encode() turns into ids.
  Result<std::string> render(const Json& messages, const ChatPromptOptions& options = {}) const;

 private:
  struct Loaded {
    ChatTemplate chat_template;
    Json special_tokens;
  };
  static Result<Loaded> parse(const ChatTemplateSource& source);
  ChatPrompt(Loaded plain, std::optional<Result<Loaded>> for_tools,
             std::shared_ptr<const Tokenizer> tokens)
      : plain_(std::move(plain)), for_tools_(std::move(for_tools)), tokenizer_(std::move(tokens)) {}

  Result<ChatTemplate::Rendering> render_marked(const Json& messages,
                                                const ChatPromptOptions& options) const;

  Loaded plain_;
  // Where the folder has another template for tools; its error matters only to a request with some.
  std::optional<Result<Loaded>> for_tools_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace moe::text
