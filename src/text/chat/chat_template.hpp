// Chat templates: the Jinja text of a model folder, parsed once and rendered for each request.
// The language is jinja2's as transformers sets it up; what it lacks is an error with its line.
// A ChatTemplate is immutable: any number of threads may render at once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "moe/result.hpp"
#include "text/chat/limits.hpp"

namespace moe::text {

struct ChatTemplateOptions {
  jinja::Limits limits;
  // What strftime_now() reads; null: the system clock. In seconds since 1970.
  int64_t (*clock)() = nullptr;
};

class ChatTemplate {
 public:
  // `source` is the Jinja text, `name` names it in errors. Errors: corrupt for a text that is no
  // template, unsupported for a construct we lack; both tell name and line.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name,
                                    const ChatTemplateOptions& options = {});
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // `variables`: an object with messages, tools, add_generation_prompt, bos_token and so on; all of
  // it is the template's context as it stands. Errors tell name and line: invalid_argument when the
  // template refuses the request or meets a value that it cannot use, unsupported for a construct
  // we lack or a limit that was passed.
  Result<std::string> render(const Json& variables) const;

  struct Rendering {
    std::string text;
    // Byte ranges [begin, end) of `text` that came from texts and keys inside variables["messages"]
    // and variables["tools"]: not to be read as special tokens. Ascending, not overlapping.
    std::vector<std::pair<size_t, size_t>> untrusted;
  };
  Result<Rendering> render_marked(const Json& variables) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

struct ChatTemplateSource {
  std::string text;
  std::string name;     // the file, for messages
  Json special_tokens;  // bos_token, eos_token, pad_token, unk_token, as far as the folder has them
};

// The template of a model folder: chat_template.jinja, else `chat_template` of
// tokenizer_config.json (of several, "tool_use" when tools are given and it is there, else
// "default"). Errors: not_found with a fix when the folder has none.
Result<ChatTemplateSource> load_chat_template(const std::filesystem::path& model_dir,
                                              bool for_tools);

}  // namespace moe::text
