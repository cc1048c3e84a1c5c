// From logits to the next token of each row. Semantics of vLLM's sampler (docs/numerics.md):
// raw log-probabilities first; then bias, penalties, temperature, min-p, top-k, top-p; then a draw
// by the Gumbel-max method whose noise is a hash of (seed, position, token) (noise.hpp), so that a
// draw depends on nothing but the request.
//   edit    l += bias; if seen: l > 0 ? l / repetition : l * repetition; l -= frequency * count;
//           l -= presence if count > 0
//   min-p   drops l < max + ln(min_p), after l /= temperature
//   top-k   drops what is below the k-th largest value
//   top-p   on the softmax of what is left: ascending, drops while the sum including the token is
//           <= 1 - p; among equals the higher id goes first; the best token stays
//   draw    the largest l + noise
// NaN logits never win. A +infinity, or a temperature so low that the best logit overflows, wins.
#pragma once

#include "moe/result.hpp"
#include "ops/op_id.hpp"
#include "tensor/view.hpp"

namespace moe::ops {

// What a row's tokens so far and the request's bias do to one logit.
struct LogitEdit {
  int32_t token = 0;
  int32_t output_count = 0;  // times generated so far
  bool seen = false;         // in the prompt or generated
  float bias = 0;            // added first; -infinity bans the token
};

struct SampleRow {
  float temperature = 1;  // 0 = greedy: the highest logit, the lowest id on a tie
  int32_t top_k = 0;      // 0 = off; ties with the k-th stay in
  float top_p = 1;        // 1 = off
  float min_p = 0;        // 0 = off
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint64_t seed = 0;
  int64_t position = 0;    // of the token to draw, counted from the start of the prompt
  int32_t edit_begin = 0;  // this row's part of `edits`
  int32_t edit_end = 0;
};

// The token of a row that has no finite logit after its edits: the row fails alone.
constexpr int32_t kNoToken = -1;

// Writes one token a row; with `top_logprobs` > 0 also the raw log-probabilities (log-softmax in
// FP32 of the logits before any edit) of the drawn token and of the `top_logprobs` best.
// A row without any finite logit gets kNoToken for its tokens, 0 for its rank, -infinity for its
// log-probabilities. Errors: invalid_argument for an edit outside the vocabulary.
struct SampleTokens {
  static constexpr OpId kId = OpId::kSampleTokens;
  ConstView logits;               // [R, V] bf16 or f32
  Array<const SampleRow> rows;    // [R]
  Array<const LogitEdit> edits;   // a token occurs at most once per row
  Array<int32_t> tokens;          // [R]
  int32_t top_logprobs = 0;       // L
  Array<int32_t> logprob_tokens;  // [R * (L + 1)]: the drawn token, then the L best, best first
  Array<float> logprobs;          // [R * (L + 1)], in that order
  Array<int32_t> ranks;  // [R]: tokens with a raw logit >= the drawn one's; absent without L
};
Status sample_tokens_ref(const SampleTokens&);

}  // namespace moe::ops
