// A request and its answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/sampling_params.hpp"
#include "tensor/view.hpp"

namespace moe::engine {

enum class FinishReason : uint8_t { kStop, kLength, kAbort, kError };
std::string_view name_of(FinishReason reason);  // "stop", "length", "abort", "error"

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
};

// Log-probabilities at one generated position.
struct PositionLogprobs {
  TokenLogprob drawn;
  int32_t rank = 0;  // 1 = the most likely
  std::vector<TokenLogprob> top;
};

// What one step added to an answer.
struct Progress {
  int32_t token = 0;
  std::string text;  // complete UTF-8, may be empty while a character or a stop string is open
  const PositionLogprobs* logprobs = nullptr;  // null unless asked for
};

struct Request {
  std::vector<int32_t> prompt;  // token ids, not empty
  SamplingParams sampling;
  // Called after each token; false ends the request with kAbort. May be empty.
  std::function<bool(const Progress&)> on_progress;
  // Called with the logits [rows, V] (host memory, FP32) of positions first_position...; for every
  // position of the prompt and of the answer but the last. May be empty.
  std::function<void(int64_t first_position, ConstView logits)> on_logits;
};

struct Completion {
  std::vector<int32_t> tokens;  // generated ids, with the one that ended the answer
  std::string text;
  FinishReason reason = FinishReason::kLength;
  std::optional<Error> error;  // with kError: what went wrong in this request alone
  std::string stop_text;       // the stop string that matched, if one did
  std::optional<int32_t> stop_token;
  std::vector<PositionLogprobs> logprobs;
  uint64_t seed = 0;  // the one used
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0;  // from submission to the first token
  double decode_seconds = 0;   // from the first token to the last
};

}  // namespace moe::engine
