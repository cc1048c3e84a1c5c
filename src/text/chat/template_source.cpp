// Finds the chat template of a model folder.
#include <fmt/format.h>

#include <fstream>

#include "base/errors.hpp"
#include "text/chat/chat_template.hpp"

namespace moe::text {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{64} << 20;
constexpr std::string_view kTokenNames[] = {"bos_token", "eos_token", "pad_token", "unk_token"};

Result<std::string> read_file(const fs::path& path, size_t limit) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) {
    return not_found(fmt::format("{}: {}", path.string(), failed.message()),
                     "check the path of the model folder");
  }
  if (size > limit) {
    return corrupt(fmt::format("{}: {} bytes, the limit is {}", path.string(), size, limit),
                   "restore the file from its source");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file || static_cast<uintmax_t>(file.gcount()) != size) {
    return corrupt(fmt::format("{}: cannot be read to its end", path.string()),
                   "check the permissions of the file");
  }
  return text;
}

Error wrong_type(const std::string& where, std::string_view wanted, const Json& got) {
  return corrupt(fmt::format("{}: wanted {}, got {}", where, wanted, got.type_name()),
                 "restore the file from its source");
}

// A token is a text or an object with its text as "content".
Result<Json> special_tokens_of(const Json& config, const std::string& name) {
  Json tokens = Json::object();
  for (const std::string_view key : kTokenNames) {
    const auto at = config.find(key);
    if (at == config.end() || at->is_null()) continue;
    const std::string where = fmt::format("{}: \"{}\"", name, key);
    if (at->is_string()) {
      tokens[std::string(key)] = *at;
      continue;
    }
    const bool has_content =
        at->is_object() && at->contains("content") && at->at("content").is_string();
    if (!has_content) return wrong_type(where, "a text or an object with \"content\"", *at);
    tokens[std::string(key)] = at->at("content");
  }
  return tokens;
}

// The template of that name in a list of {name, template}; null when it is not there.
Result<const std::string*> named_template(const Json& list, std::string_view wanted,
                                          const std::string& where) {
  for (const Json& entry : list) {
    if (!entry.is_object()) return wrong_type(where, "a list of objects", entry);
    const auto name = entry.find("name");
    const auto text = entry.find("template");
    const bool complete =
        name != entry.end() && name->is_string() && text != entry.end() && text->is_string();
    if (!complete) return wrong_type(where, "objects with \"name\" and \"template\"", entry);
    if (name->get_ref<const std::string&>() == wanted) {
      return &text->get_ref<const std::string&>();
    }
  }
  return nullptr;
}

Result<std::string> template_of(const Json& config, const std::string& name, bool for_tools) {
  const std::string where = fmt::format("{}: \"chat_template\"", name);
  const auto at = config.find("chat_template");
  if (at == config.end() || at->is_null()) {
    return not_found(fmt::format("{}: there is no chat template", name),
                     "add chat_template.jinja to the model folder, or send a plain prompt");
  }
  if (at->is_string()) return at->get_ref<const std::string&>();
  if (!at->is_array()) return wrong_type(where, "a text or a list", *at);
  const std::string* found = nullptr;
  if (for_tools) found = TRY(named_template(*at, "tool_use", where));
  if (found == nullptr) found = TRY(named_template(*at, "default", where));
  if (found != nullptr) return *found;
  return not_found(fmt::format("{}: no template is named \"default\"", where),
                   "add chat_template.jinja to the model folder");
}

}  // namespace

Result<ChatTemplateSource> load_chat_template(const fs::path& model_dir, bool for_tools) {
  std::error_code ignored;
  const fs::path config_path = model_dir / "tokenizer_config.json";
  const fs::path template_path = model_dir / "chat_template.jinja";
  Json config = Json::object();
  const bool has_config = fs::exists(config_path, ignored);
  if (has_config) {
    const std::string text = TRY(read_file(config_path, kMaxConfigBytes));
    config = TRY(parse_json(text, config_path.string()));
    if (!config.is_object()) return wrong_type(config_path.string(), "an object", config);
  }
  ChatTemplateSource source;
  source.special_tokens = TRY(special_tokens_of(config, config_path.string()));
  if (fs::exists(template_path, ignored)) {
    source.text = TRY(read_file(template_path, jinja::kMaxTemplateBytes));
    source.name = template_path.string();
    return source;
  }
  if (!has_config) {
    return not_found(
        fmt::format("{}: neither chat_template.jinja nor tokenizer_config.json is there",
                    model_dir.string()),
        "add chat_template.jinja to the model folder, or send a plain prompt");
  }
  source.text = TRY(template_of(config, config_path.string(), for_tools));
  source.name = config_path.string();
  return source;
}

}  // namespace moe::text
