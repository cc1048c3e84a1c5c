#include "engine/sampling_params.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"

namespace moe::engine {
namespace {

template <class T>
Status in_range(const char* field, T value, double low, double high, const char* range) {
  const double wide = static_cast<double>(value);
  if (wide >= low && wide <= high) return {};  // NaN fails too
  return invalid_argument(fmt::format("{} is {}, wanted {}", field, value, range),
                          fmt::format("pass a value {}", range));
}

Status positive(const char* field, float value) {
  if (value > 0 && std::isfinite(value)) return {};
  return invalid_argument(fmt::format("{} is {}, wanted a number above 0", field, value),
                          "1 switches it off");
}

Status valid_token(const char* field, int32_t token, int64_t vocab_size) {
  if (token >= 0 && token < vocab_size) return {};
  return invalid_argument(fmt::format("{} names token {}, the vocabulary has ids 0 to {}", field,
                                      token, vocab_size - 1),
                          "make the ids with this model's own tokenizer");
}

}  // namespace

Status SamplingParams::validate(int64_t vocab_size) const {
  TRY(in_range("temperature", temperature, 0, 2, "from 0 to 2"));
  TRY(in_range("top_k", top_k, -1, 1e9, "of at least -1 (0 and -1 switch it off)"));
  TRY(positive("top_p", top_p));
  TRY(in_range("top_p", top_p, 0, 1, "above 0 and at most 1"));
  TRY(in_range("min_p", min_p, 0, 1, "from 0 to 1"));
  TRY(positive("repetition_penalty", repetition_penalty));
  TRY(in_range("presence_penalty", presence_penalty, -2, 2, "from -2 to 2"));
  TRY(in_range("frequency_penalty", frequency_penalty, -2, 2, "from -2 to 2"));
  TRY(in_range("max_tokens", max_tokens, 1, 1e15, "of at least 1"));
  TRY(in_range("min_tokens", min_tokens, 0, static_cast<double>(max_tokens),
               "from 0 to max_tokens"));
  if (top_logprobs) {
    TRY(in_range("top_logprobs", *top_logprobs, 0, kMaxTopLogprobs, "from 0 to 20"));
  }
  if (logit_bias.size() > kMaxLogitBias) {
    return invalid_argument(
        fmt::format("logit_bias has {} entries, the limit is {}", logit_bias.size(), kMaxLogitBias),
        "keep the biases that matter most");
  }
  for (const auto& [token, bias] : logit_bias) {
    TRY(valid_token("logit_bias", token, vocab_size));
    TRY(in_range("logit_bias", bias, -100, 100, "from -100 to 100"));
  }
  for (int32_t token : stop_token_ids) TRY(valid_token("stop_token_ids", token, vocab_size));
  if (static_cast<int64_t>(stop.size()) > kMaxStopStrings) {
    return invalid_argument(
        fmt::format("stop has {} strings, the limit is {}", stop.size(), kMaxStopStrings),
        "give fewer stop strings");
  }
  for (const std::string& text : stop) {
    if (text.empty() || text.size() > kMaxStopBytes) {
      return invalid_argument(
          fmt::format("a stop string has {} bytes, wanted 1 to {}", text.size(), kMaxStopBytes),
          "leave empty ones out and shorten the others");
    }
  }
  return {};
}

}  // namespace moe::engine
