#include <fmt/format.h>

#include "base/errors.hpp"
#include "text/tokenizer/tokenizer.hpp"
#include "verify/folder.hpp"
#include "verify/json_file.hpp"
#include "verify/text_cases.hpp"

namespace moe::verify {
namespace {

constexpr std::string_view kCasesSuffix = ".cases.json";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Result<std::vector<int32_t>> ids_field(const Json& object, const char* key,
                                       const std::string& where) {
  std::vector<int32_t> ids;
  const auto found = object.find(key);
  bool valid = found != object.end() && found->is_array();
  for (const Json& id : valid ? *found : Json::array()) {
    valid = valid && id.is_number_integer();
    if (valid) ids.push_back(id.get<int32_t>());
  }
  if (valid) return ids;
  return corrupt(fmt::format("{}: wanted a list of token ids \"{}\"", where, key),
                 "restore the oracle folder from its source");
}

Result<std::string> streamed(const std::shared_ptr<const text::Tokenizer>& tokenizer,
                             const std::vector<int32_t>& ids) {
  text::Detokenizer detokenizer(tokenizer, /*skip_special_tokens=*/false);
  std::string text;
  for (int32_t id : ids) text += TRY(detokenizer.push(id));
  return text + detokenizer.finish();
}

// What is wrong with one text, or "". `decoded` belongs to the ids without special tokens,
// `decoded_skip_special` to those with them.
Result<std::string> first_difference(const std::shared_ptr<const text::Tokenizer>& tokenizer,
                                     const Json& entry, const std::string& where) {
  const std::string text = TRY(string_field(entry, "text", where));
  const auto plain = TRY(ids_field(entry, "ids", where));
  const auto special = TRY(ids_field(entry, "ids_with_special", where));
  if (TRY(tokenizer->encode(text, false)) != plain) return std::string("ids");
  if (TRY(tokenizer->encode(text, true)) != special) return std::string("ids with special tokens");
  const std::string decoded = TRY(string_field(entry, "decoded", where));
  if (TRY(tokenizer->decode(plain, false)) != decoded) return std::string("decoded text");
  if (TRY(streamed(tokenizer, plain)) != decoded) return std::string("streamed text");
  const std::string skipped = TRY(string_field(entry, "decoded_skip_special", where));
  if (TRY(tokenizer->decode(special, true)) != skipped) {
    return std::string("decoded text without special tokens");
  }
  return std::string();
}

Status run_kind(const std::filesystem::path& dir, const std::string& kind, CaseResult& result) {
  const std::string json = TRY(read_text_file(dir / (kind + ".json")));
  const auto tokenizer = TRY(text::Tokenizer::from_json(json, kind + ".json"));
  const Json cases = TRY(read_json_file(dir / (kind + std::string(kCasesSuffix))));
  if (!cases.is_array() || cases.empty())
    return corrupt(kind + ".cases.json: wanted a list of cases");
  size_t wrong = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string where = fmt::format("{}.cases.json: case {}", kind, i);
    const std::string difference = TRY(first_difference(tokenizer, cases[i], where));
    if (difference.empty()) continue;
    if (wrong++ == 0) {
      result.detail =
          fmt::format("case {}: {} differ, text {}", i, difference, cases[i]["text"].dump());
    }
  }
  result.outcome = wrong == 0 ? Outcome::kPass : Outcome::kFail;
  result.measured = fmt::format("{} of {} texts differ", wrong, cases.size());
  result.allowed = "0";
  return {};
}

}  // namespace

Status verify_tokenizers(const std::filesystem::path& dir, const std::string& filter,
                         const CaseSink& sink) {
  for (const std::filesystem::path& path : TRY(sorted_entries(dir))) {
    const std::string file = path.filename().string();
    if (!ends_with(file, kCasesSuffix)) continue;
    const std::string kind = file.substr(0, file.size() - kCasesSuffix.size());
    CaseResult result;
    result.name = "tokenizers/" + kind;
    if (!matches(result.name, filter)) continue;
    const Status status = run_kind(dir, kind, result);
    if (!status.ok()) {
      result.outcome = Outcome::kFail;
      result.detail = status.error().to_string();
    }
    sink(std::move(result));
  }
  return {};
}

}  // namespace moe::verify
