#include "io/generation_config.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/errors.hpp"
#include "io/file_map.hpp"

namespace moe::io {
namespace {

constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();
constexpr double kMaxTemperature = 100.0;
constexpr double kMaxPenalty = 100.0;

// A token id; -1 is how older files write "none".
Result<std::optional<int32_t>> token_id(const ConfigObject& file, std::string_view key) {
  const auto id = TRY(file.optional_integer(key, -1, kMaxToken));
  if (!id || *id < 0) return std::optional<int32_t>();
  return std::optional(static_cast<int32_t>(*id));
}

// A number or a list of numbers, without repeats, in file order.
Result<std::vector<int32_t>> token_ids(const ConfigObject& file, std::string_view key) {
  std::vector<int32_t> ids;
  if (!file.has(key)) return ids;
  if (!file.json()[std::string(key)].is_array()) {
    const auto id = TRY(token_id(file, key));
    if (id) ids.push_back(*id);
    return ids;
  }
  const auto list = TRY(file.integers(key, 0, kMaxToken));
  if (list.size() > kMaxEosTokens) {
    return file.wrong_value(key, "at most " + std::to_string(kMaxEosTokens) + " token ids");
  }
  for (int64_t id : list) {
    const auto token = static_cast<int32_t>(id);
    if (std::find(ids.begin(), ids.end(), token) == ids.end()) ids.push_back(token);
  }
  return ids;
}

Status read_sampling(const ConfigObject& file, GenerationConfig& out) {
  out.do_sample = TRY(file.optional_boolean("do_sample"));
  out.temperature = TRY(file.optional_number("temperature", 0, kMaxTemperature));
  const auto top_k = TRY(file.optional_integer("top_k", -1, kMaxToken));
  if (top_k) out.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));
  out.top_p = TRY(file.optional_number("top_p", 0, 1));
  out.min_p = TRY(file.optional_number("min_p", 0, 1));
  out.repetition_penalty = TRY(file.optional_number("repetition_penalty", 0, kMaxPenalty));
  if (out.repetition_penalty && *out.repetition_penalty == 0) {
    return file.wrong_value("repetition_penalty", "a number above 0");
  }
  out.max_new_tokens = TRY(file.optional_integer("max_new_tokens", 1, kMaxToken));
  return {};
}

Status read_tokens(const ConfigObject& file, GenerationConfig& out) {
  if (out.eos_token_ids.empty()) out.eos_token_ids = TRY(token_ids(file, "eos_token_id"));
  if (!out.bos_token_id) out.bos_token_id = TRY(token_id(file, "bos_token_id"));
  if (!out.pad_token_id) out.pad_token_id = TRY(token_id(file, "pad_token_id"));
  return {};
}

}  // namespace

Result<GenerationConfig> GenerationConfig::parse(std::string_view text, std::string source,
                                                 const HfConfig& config) {
  const ConfigObject file = TRY(ConfigObject::parse(text, std::move(source)));
  GenerationConfig out;
  TRY(read_sampling(file, out));
  TRY(read_tokens(file, out));
  TRY(read_tokens(config, out));
  return out;
}

Result<GenerationConfig> GenerationConfig::load(const std::filesystem::path& model_dir,
                                                const HfConfig& config) {
  const std::filesystem::path path = model_dir / "generation_config.json";
  const auto text = read_small_file(path, kMaxConfigBytes);
  if (text.ok()) return parse(*text, path.string(), config);
  if (text.error().code != ErrorCode::kNotFound) return text.error();
  return parse("{}", path.string(), config);
}

}  // namespace moe::io
