// What a request may ask of decoding, with vLLM's names, defaults and limits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "moe/result.hpp"

namespace moe::engine {

struct SamplingParams {
  static constexpr int64_t kMaxStopStrings = 64;
  static constexpr size_t kMaxStopBytes = 4096;
  static constexpr int32_t kMaxTopLogprobs = 20;
  static constexpr size_t kMaxLogitBias = 1024;

  float temperature = 1;         // [0, 2]; 0 = greedy; values in (0, 0.01) are raised to 0.01
  int32_t top_k = 0;             // >= -1; 0 and -1 = off
  float top_p = 1;               // (0, 1]
  float min_p = 0;               // [0, 1]
  float repetition_penalty = 1;  // > 0
  float presence_penalty = 0;    // [-2, 2]
  float frequency_penalty = 0;   // [-2, 2]
  std::map<int32_t, float> logit_bias;  // token -> [-100, 100]
  std::optional<uint64_t> seed;         // none = a random one for the request
  std::vector<std::string> stop;        // text that ends the answer; not part of it
  std::vector<int32_t> stop_token_ids;
  bool include_stop_in_output = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  int64_t max_tokens = 16;  // >= 1
  int64_t min_tokens = 0;   // end-of-sequence and stop ids are banned before; <= max_tokens
  std::optional<int32_t> top_logprobs;  // [0, kMaxTopLogprobs]; set = report log-probabilities

  // Errors: invalid_argument naming the field, its value and its range.
  Status validate(int64_t vocab_size) const;
};

}  // namespace moe::engine
