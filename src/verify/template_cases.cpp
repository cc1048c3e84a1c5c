#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/chat_template.hpp"
#include "verify/folder.hpp"
#include "verify/json_file.hpp"
#include "verify/text_cases.hpp"

namespace moe::verify {
namespace {

bool flag(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_boolean() && found->get<bool>();
}

// What the template sees: as transformers' apply_chat_template gives it.
Result<Json> context_of(const Json& file, const Json& entry, const std::string& where) {
  const std::string messages = TRY(string_field(entry, "messages", where));
  if (!file.contains("message_sets") || !file["message_sets"].contains(messages)) {
    return corrupt(fmt::format("{}: no message set \"{}\"", where, messages));
  }
  Json context = file.contains("variables") ? file["variables"] : Json::object();
  context["messages"] = file["message_sets"][messages];
  context["tools"] = flag(entry, "tools") ? file["tools"] : Json(nullptr);
  context["documents"] = nullptr;
  context["add_generation_prompt"] = flag(entry, "add_generation_prompt");
  return context;
}

struct Tally {
  size_t cases = 0;
  size_t wrong = 0;
  size_t skipped = 0;
  std::string first_problem;
};

Status check_case(const Json& file, const Json& entry, const text::ChatTemplate& chat_template,
                  const std::string& where, Tally& tally) {
  if (entry.contains("skipped")) {
    ++tally.skipped;
    return {};
  }
  ++tally.cases;
  const Result<std::string> rendered = chat_template.render(TRY(context_of(file, entry, where)));
  std::string problem;
  if (entry.contains("error")) {
    if (rendered.ok()) problem = "rendered where the template refuses";
  } else {
    const std::string wanted = TRY(string_field(entry, "rendered", where));
    if (!rendered.ok()) {
      problem = rendered.error().message;
    } else if (*rendered != wanted) {
      problem = "got " + Json(*rendered).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  if (problem.empty()) return {};
  if (tally.wrong++ == 0) tally.first_problem = where + ": " + problem;
  return {};
}

Status run_template(const std::filesystem::path& dir, const std::string& name, const Json& file,
                    Tally& tally) {
  const std::string source = TRY(read_text_file(dir / name));
  const text::ChatTemplate chat_template = TRY(text::ChatTemplate::parse(source, name));
  const Json& cases = file["cases"];
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string where = fmt::format("cases.json: case {}", i);
    if (TRY(string_field(cases[i], "template", where)) != name) continue;
    TRY(check_case(file, cases[i], chat_template, where, tally));
  }
  return {};
}

}  // namespace

Status verify_templates(const std::filesystem::path& dir, const std::string& filter,
                        const CaseSink& sink) {
  std::error_code error;
  if (!std::filesystem::exists(dir / "cases.json", error)) return {};
  const Json file = TRY(read_json_file(dir / "cases.json"));
  if (!file.is_object() || !file.contains("cases") || !file["cases"].is_array()) {
    return corrupt((dir / "cases.json").string() + ": wanted an object with a list \"cases\"");
  }
  std::vector<std::string> names;
  for (const Json& entry : file["cases"]) {
    const std::string name = TRY(string_field(entry, "template", "cases.json"));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& name : names) {
    CaseResult result;
    result.name = "templates/" + name;
    if (!matches(result.name, filter)) continue;
    Tally tally;
    const Status status = run_template(dir, name, file, tally);
    result.measured = fmt::format("{} of {} renderings differ", tally.wrong, tally.cases);
    result.allowed = "0";
    result.detail = status.ok() ? tally.first_problem : status.error().to_string();
    const bool passed = status.ok() && tally.wrong == 0;
    result.outcome = passed ? Outcome::kPass : Outcome::kFail;
    if (passed && tally.cases == 0) {
      result.outcome = Outcome::kSkip;
      result.detail = fmt::format("all {} cases are marked skipped", tally.skipped);
    }
    sink(std::move(result));
  }
  return {};
}

}  // namespace moe::verify
