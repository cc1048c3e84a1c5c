#include "engine/sequence.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

namespace moe::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

bool has_penalty(const SamplingParams& sampling) {
  return sampling.repetition_penalty != 1 || sampling.presence_penalty != 0 ||
         sampling.frequency_penalty != 0;
}

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kError:
      return "error";
  }
  return "?";
}

Sequence::Sequence(int64_t id, Request request, int64_t token_limit,
                   std::shared_ptr<const text::Tokenizer> tokenizer, std::span<const int32_t> eos)
    : id_(id),
      request_(std::move(request)),
      token_limit_(token_limit),
      tokens_(request_.prompt),
      eos_(eos.begin(), eos.end()),
      stop_matcher_(request_.sampling.stop, request_.sampling.include_stop_in_output),
      submitted_(Clock::now()) {
  if (tokenizer) detokenizer_.emplace(std::move(tokenizer), request_.sampling.skip_special_tokens);
  completion_.prompt_tokens = token_count();
  completion_.seed = request_.sampling.seed ? *request_.sampling.seed : random_seed();
  if (has_penalty(request_.sampling)) {
    for (int32_t token : request_.prompt) count_token(token, false);
  }
}

void Sequence::count_token(int32_t token, bool generated) {
  uses_[token].generated += generated ? 1 : 0;
}

ops::SampleRow Sequence::sample_row() const {
  constexpr float kLowestTemperature = 0.01F;  // as vLLM: smaller ones overflow the logits
  const SamplingParams& sampling = request_.sampling;
  ops::SampleRow row;
  row.temperature =
      sampling.temperature == 0 ? 0 : std::max(sampling.temperature, kLowestTemperature);
  row.top_k = std::max(sampling.top_k, 0);
  row.top_p = sampling.top_p;
  row.min_p = sampling.min_p;
  row.repetition_penalty = sampling.repetition_penalty;
  row.presence_penalty = sampling.presence_penalty;
  row.frequency_penalty = sampling.frequency_penalty;
  row.seed = completion_.seed;
  row.position = token_count();
  return row;
}

void Sequence::append_edits(std::vector<ops::LogitEdit>& edits) const {
  const SamplingParams& sampling = request_.sampling;
  std::map<int32_t, ops::LogitEdit> by_token;
  for (const auto& [token, uses] : uses_) {
    by_token[token] = {token, uses.generated, /*seen=*/true, /*bias=*/0};
  }
  const auto add_bias = [&](int32_t token, float bias) {
    ops::LogitEdit& edit = by_token[token];
    edit.token = token;
    edit.bias += bias;
  };
  for (const auto& [token, bias] : sampling.logit_bias) add_bias(token, bias);
  if (static_cast<int64_t>(completion_.tokens.size()) < sampling.min_tokens) {
    constexpr float kBanned = -std::numeric_limits<float>::infinity();
    for (int32_t token : eos_) add_bias(token, kBanned);
    for (int32_t token : sampling.stop_token_ids) add_bias(token, kBanned);
  }
  for (const auto& [token, edit] : by_token) edits.push_back(edit);
}

bool Sequence::ends_answer(int32_t token) const {
  const SamplingParams& sampling = request_.sampling;
  if (!sampling.ignore_eos && contains(eos_, token)) return true;
  return contains(sampling.stop_token_ids, token);
}

Status Sequence::emit(int32_t token, bool ends) {
  const bool show = !ends || request_.sampling.include_stop_in_output;
  std::string text;
  if (detokenizer_ && show) text = stop_matcher_.push(TRY(detokenizer_->push(token)));
  completion_.text += text;
  if (request_.on_progress) {
    const PositionLogprobs* logprobs =
        completion_.logprobs.empty() ? nullptr : &completion_.logprobs.back();
    if (!request_.on_progress({token, std::move(text), logprobs})) abort_requested = true;
  }
  return {};
}

Status Sequence::accept(int32_t token, std::optional<PositionLogprobs> logprobs) {
  if (completion_.tokens.empty()) first_token_ = Clock::now();
  tokens_.push_back(token);
  completion_.tokens.push_back(token);
  if (logprobs) completion_.logprobs.push_back(std::move(*logprobs));
  if (has_penalty(request_.sampling)) count_token(token, true);
  const bool ends = ends_answer(token);
  TRY(emit(token, ends));
  const int64_t generated = static_cast<int64_t>(completion_.tokens.size());
  if (abort_requested) {
    finish(FinishReason::kAbort);
  } else if (ends) {
    completion_.stop_token = token;
    finish(FinishReason::kStop);
  } else if (stop_matcher_.matched()) {
    completion_.stop_text = stop_matcher_.match();
    finish(FinishReason::kStop);
  } else if (generated >= request_.sampling.max_tokens || token_count() >= token_limit_) {
    finish(FinishReason::kLength);
  }
  return {};
}

void Sequence::fail(Error error) {
  completion_.error = std::move(error);
  finish(FinishReason::kError);
}

void Sequence::finish(FinishReason reason) {
  finished_ = true;
  completion_.reason = reason;
  std::string rest;
  if (detokenizer_ && !stop_matcher_.matched()) {
    rest = stop_matcher_.push(detokenizer_->finish());
    if (!stop_matcher_.matched()) rest += stop_matcher_.finish();
  }
  if (!rest.empty()) {
    completion_.text += rest;
    // Text that was held back belongs to the last token; whether the reader wants more is moot.
    if (request_.on_progress) request_.on_progress({tokens_.back(), rest, nullptr});
  }
  const Clock::time_point end = Clock::now();
  if (completion_.tokens.empty()) first_token_ = end;
  completion_.prefill_seconds = seconds_between(submitted_, first_token_);
  completion_.decode_seconds = seconds_between(first_token_, end);
}

}  // namespace moe::engine
