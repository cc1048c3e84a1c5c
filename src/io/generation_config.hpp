// generation_config.json: the sampling settings and special tokens that a checkpoint suggests.
// Everything is optional, and so is the file; the token ids then come from config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/hf_config.hpp"
#include "moe/result.hpp"

namespace moe::io {

inline constexpr size_t kMaxEosTokens = 1024;

struct GenerationConfig {
  std::vector<int32_t> eos_token_ids;  // any of them ends the text; may be empty
  std::optional<int32_t> bos_token_id;
  std::optional<int32_t> pad_token_id;
  std::optional<bool> do_sample;
  std::optional<double> temperature;
  std::optional<int32_t> top_k;  // 0 = off, as -1 in the file
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<int64_t> max_new_tokens;

  // Reads `generation_config.json` in the folder, if it is there.
  static Result<GenerationConfig> load(const std::filesystem::path& model_dir,
                                       const HfConfig& config);
  // Keys of the file that are not named above do not concern text generation here and are ignored.
  static Result<GenerationConfig> parse(std::string_view text, std::string source,
                                        const HfConfig& config);
};

}  // namespace moe::io
