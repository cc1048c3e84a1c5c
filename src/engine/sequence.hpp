// One request while it is served: its tokens, its pages, and its growing answer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/request.hpp"
#include "engine/stop_matcher.hpp"
#include "ops/sampling.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace moe::engine {

class Sequence {
 public:
  // `token_limit`: prompt and answer together; `eos`: the model's end-of-sequence ids.
  Sequence(int64_t id, Request request, int64_t token_limit,
           std::shared_ptr<const text::Tokenizer> tokenizer, std::span<const int32_t> eos);

  int64_t id() const { return id_; }
  const Request& request() const { return request_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int64_t token_count() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t token_limit() const { return token_limit_; }
  bool finished() const { return finished_; }

  // Tokens whose keys and values are in the cache.
  int64_t computed = 0;
  std::vector<int32_t> blocks;
  bool abort_requested = false;

  // Sampling of the next token: fills `row` but for its edit range, and appends its edits.
  ops::SampleRow sample_row() const;
  void append_edits(std::vector<ops::LogitEdit>& edits) const;

  // Takes the drawn token: stop checks, text, callback. Errors: the tokenizer's.
  Status accept(int32_t token, std::optional<PositionLogprobs> logprobs);
  void finish(FinishReason reason);
  // Ends the request with kError.
  void fail(Error error);
  Completion take_completion() { return std::move(completion_); }

 private:
  bool ends_answer(int32_t token) const;
  Status emit(int32_t token, bool ends);
  void count_token(int32_t token, bool generated);

  struct Uses {
    int32_t generated = 0;
  };

  int64_t id_;
  Request request_;
  int64_t token_limit_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> eos_;
  std::optional<text::Detokenizer> detokenizer_;
  StopMatcher stop_matcher_;
  std::unordered_map<int32_t, Uses> uses_;  // kept only when a penalty needs it
  Completion completion_;
  bool finished_ = false;
  std::chrono::steady_clock::time_point submitted_;
  std::chrono::steady_clock::time_point first_token_;
};

}  // namespace moe::engine
