#include "text/chat/chat_template.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/errors.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/parser.hpp"

namespace moe::text {
namespace {

using jinja::Dict;
using jinja::Value;

// JSON of the request as values of the template.
class Importer {
 public:
  explicit Importer(const jinja::Limits& limits) : limits_(limits) {}

  Result<Value> import(const Json& json, bool untrusted, int level) const {
    switch (json.type()) {
      case Json::value_t::null:
        return Value::none();
      case Json::value_t::boolean:
        return Value::boolean(json.get<bool>());
      case Json::value_t::number_integer:
        return Value::integer(json.get<int64_t>());
      case Json::value_t::number_unsigned:
        return import_unsigned(json.get<uint64_t>());
      case Json::value_t::number_float:
        return Value::floating(json.get<double>());
      case Json::value_t::string:
        return import_text(json.get_ref<const std::string&>(), untrusted);
      case Json::value_t::array:
        return import_array(json, untrusted, level);
      case Json::value_t::object:
        return Value::dict(
            std::make_shared<const Dict>(TRY(import_object(json, untrusted, level))));
      case Json::value_t::binary:
      case Json::value_t::discarded:
        break;
    }
    return invalid_argument("a variable of the chat template is no JSON value");
  }

  Result<Dict> import_variables(const Json& variables) const {
    Dict dict;
    for (const auto& [name, json] : variables.items()) {
      const bool untrusted = name == "messages" || name == "tools";
      Value key = TRY(import_text(name, false));
      dict.set(key, TRY(import(json, untrusted, 1)));
    }
    return dict;
  }

 private:
  Status check_level(int level) const {
    if (level <= limits_.value_depth) return {};
    return invalid_argument(fmt::format("a variable of the chat template is nested deeper than {}",
                                        limits_.value_depth),
                            "send messages and tools that are nested less deeply");
  }

  static Result<Value> import_unsigned(uint64_t number) {
    if (number > static_cast<uint64_t>(INT64_MAX)) {
      return invalid_argument(fmt::format("the number {} in a variable of the chat template does "
                                          "not fit a signed 64-bit integer",
                                          number),
                              "send it as a text");
    }
    return Value::integer(static_cast<int64_t>(number));
  }

  static Result<Value> import_text(const std::string& text, bool untrusted) {
    if (!jinja::is_valid_utf8(text)) {
      return invalid_argument("a text in a variable of the chat template is not valid UTF-8",
                              "send texts as UTF-8");
    }
    return Value::text(jinja::make_text(text, untrusted));
  }

  Result<Value> import_array(const Json& json, bool untrusted, int level) const {
    TRY(check_level(level));
    auto list = std::make_shared<jinja::List>();
    list->depth = 1;
    list->weight = 1;
    list->items.reserve(json.size());
    for (const Json& item : json) {
      list->items.push_back(TRY(import(item, untrusted, level + 1)));
      list->depth = std::max(list->depth, 1 + list->items.back().depth());
      list->weight += list->items.back().weight();
    }
    return Value::list_of(std::move(list), false);
  }

  Result<Dict> import_object(const Json& json, bool untrusted, int level) const {
    TRY(check_level(level));
    Dict dict;
    for (const auto& [name, item] : json.items()) {
      const Value key = TRY(import_text(name, untrusted));
      dict.set(key, TRY(import(item, untrusted, level + 1)));
    }
    return dict;
  }

  const jinja::Limits& limits_;
};

}  // namespace

struct ChatTemplate::Program {
  std::string name;
  jinja::Limits limits;
  jinja::Clock clock;
  std::unique_ptr<jinja::Function> root;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name,
                                         const ChatTemplateOptions& options) {
  auto program = std::make_unique<Program>();
  program->name = std::string(name);
  program->limits = options.limits;
  if (options.clock == nullptr) {
    program->clock = [] { return std::chrono::system_clock::now(); };
  } else {
    program->clock = [clock = options.clock] {
      return std::chrono::system_clock::time_point(std::chrono::seconds(clock()));
    };
  }
  program->root = TRY(jinja::parse_template(source, program->name, program->limits));
  return ChatTemplate(std::move(program));
}

Result<ChatTemplate::Rendering> ChatTemplate::render_marked(const Json& variables) const {
  if (!variables.is_object()) {
    return invalid_argument(
        fmt::format("{}: the variables of a chat template are an object, got {}", program_->name,
                    variables.type_name()),
        "pass an object with \"messages\"");
  }
  const Dict context = TRY(Importer(program_->limits).import_variables(variables));
  jinja::Interp interp(program_->limits, program_->clock, context);
  auto rendered = interp.render(*program_->root);
  if (!rendered.ok()) {
    Error error = std::move(rendered).error();
    error.message = fmt::format("{}:{}: {}", program_->name, interp.line(), error.message);
    return error;
  }
  Rendering rendering;
  rendering.text = std::move(rendered->bytes);
  rendering.untrusted.reserve(rendered->untrusted.size());
  for (const jinja::ByteRange& range : rendered->untrusted) {
    rendering.untrusted.emplace_back(range.begin, range.end);
  }
  return rendering;
}

Result<std::string> ChatTemplate::render(const Json& variables) const {
  return TRY(render_marked(variables)).text;
}

}  // namespace moe::text
