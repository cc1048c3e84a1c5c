#include "verify/model_expectation.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "io/file_map.hpp"

namespace moe::verify {
namespace {

Error malformed(const std::string& where, const std::string& wanted) {
  return corrupt(fmt::format("{}: wanted {}", where, wanted),
                 "restore the oracle folder from its source");
}

Result<std::vector<std::vector<int32_t>>> token_lists(const Json& value, const std::string& where) {
  const char* wanted = "a list of lists of token ids";
  if (!value.is_array()) return malformed(where, wanted);
  std::vector<std::vector<int32_t>> lists;
  for (const Json& list : value) {
    if (!list.is_array()) return malformed(where, wanted);
    std::vector<int32_t>& tokens = lists.emplace_back();
    for (const Json& token : list) {
      if (!token.is_number_integer()) return malformed(where, wanted);
      tokens.push_back(token.get<int32_t>());
    }
  }
  return lists;
}

Result<double> positive_number(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number() || !(found->get<double>() >= 0)) {
    return malformed(fmt::format("{}: {}", where, key), "a number of at least 0");
  }
  return found->get<double>();
}

}  // namespace

Result<ModelExpectation> load_model_expectation(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "expect.json";
  const auto map = TRY(io::FileMap::open(path));
  const std::string where = path.string();
  const Json json = TRY(
      parse_json({reinterpret_cast<const char*>(map->bytes().data()), map->bytes().size()}, where));
  if (!json.is_object() || !json.contains("prompts") || !json.contains("tokens") ||
      !json["tokens"].is_object() || !json["tokens"].contains("fp32")) {
    return malformed(where, "an object with prompts and tokens.fp32");
  }
  ModelExpectation expectation;
  expectation.prompts = TRY(token_lists(json["prompts"], where + ": prompts"));
  expectation.tokens = TRY(token_lists(json["tokens"]["fp32"], where + ": tokens.fp32"));
  if (expectation.prompts.empty() || expectation.prompts.size() != expectation.tokens.size()) {
    return malformed(where, "one list of tokens for each of at least one prompt");
  }
  expectation.max_abs_bound =
      kLogitBoundFactor * TRY(positive_number(json, "max_abs_diff_fp32_bf16", where));
  expectation.rms_bound =
      kLogitBoundFactor * TRY(positive_number(json, "rms_diff_fp32_bf16", where));
  return expectation;
}

Result<ModelLogits> ModelLogits::open(const std::filesystem::path& file, size_t prompts) {
  ModelLogits logits(TRY(io::SafetensorsFile::open(file)));
  for (size_t prompt = 0; prompt < prompts; ++prompt) {
    const std::string name = fmt::format("fp32.prompt{}", prompt);
    const io::TensorInfo* tensor = logits.file_.find(name);
    if (tensor == nullptr || tensor->type != io::StoredType::kF32 || tensor->shape.size() != 2 ||
        (prompt > 0 && tensor->shape[1] != logits.vocab())) {
      return malformed(fmt::format("{}: {}", file.string(), name),
                       "a tensor [positions, vocabulary] of F32");
    }
    logits.tensors_.push_back(*tensor);
  }
  return logits;
}

}  // namespace moe::verify
