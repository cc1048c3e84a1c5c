// The reference of SampleTokens: one row at a time. A token that is out has the logit -infinity.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/exp.hpp"
#include "ops/noise.hpp"
#include "ops/sampling.hpp"
#include "ops/validate.hpp"

namespace moe::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The logits of a row in FP32; NaN becomes -infinity, since it never wins.
std::vector<float> raw_logits(const SampleTokens& op, int64_t r) {
  std::vector<float> logits(static_cast<size_t>(op.logits.cols));
  for (size_t v = 0; v < logits.size(); ++v) {
    const float logit =
        op.logits.dtype == DType::kF32 ? op.logits.f32_row(r)[v] : to_f32(op.logits.bf16_row(r)[v]);
    logits[v] = std::isnan(logit) ? -kInfinity : logit;
  }
  return logits;
}

void apply_edits(const SampleTokens& op, const SampleRow& row, std::vector<float>& logits) {
  for (int64_t i = row.edit_begin; i < row.edit_end; ++i) {
    const LogitEdit& edit = op.edits[i];
    float logit = logits[static_cast<size_t>(edit.token)] + edit.bias;
    if (edit.seen) {
      logit = logit > 0 ? logit / row.repetition_penalty : logit * row.repetition_penalty;
    }
    logit -= row.frequency_penalty * static_cast<float>(edit.output_count);
    if (edit.output_count > 0) logit -= row.presence_penalty;
    logits[static_cast<size_t>(edit.token)] = std::isnan(logit) ? -kInfinity : logit;
  }
}

// The lowest index among the largest values.
size_t highest(const std::vector<float>& logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void apply_min_p(const SampleRow& row, std::vector<float>& logits) {
  if (row.min_p <= 0) return;
  const float lowest = logits[highest(logits)] + static_cast<float>(log_f64(double{row.min_p}));
  for (float& logit : logits) {
    if (logit < lowest) logit = -kInfinity;
  }
}

void apply_top_k(const SampleRow& row, std::vector<float>& logits) {
  if (row.top_k <= 0 || static_cast<size_t>(row.top_k) >= logits.size()) return;
  std::vector<float> sorted = logits;
  const auto kth = sorted.begin() + (row.top_k - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  for (float& logit : logits) {
    if (logit < *kth) logit = -kInfinity;
  }
}

// Drops the tokens of least probability while their sum stays <= 1 - p; among equals the higher id
// goes first, and the best token stays always.
void apply_top_p(const SampleRow& row, std::vector<float>& logits) {
  if (row.top_p >= 1) return;
  std::vector<size_t> order;
  for (size_t v = 0; v < logits.size(); ++v) {
    if (logits[v] > -kInfinity) order.push_back(v);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
  });
  const float max = logits[order.back()];
  double total = 0;
  for (size_t v : order) total += double{exp_f32(logits[v] - max)};
  const double allowed = (1.0 - double{row.top_p}) * total;
  double dropped = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    dropped += double{exp_f32(logits[order[i]] - max)};
    if (dropped > allowed) return;
    logits[order[i]] = -kInfinity;
  }
}

size_t draw(const SampleRow& row, const std::vector<float>& logits) {
  size_t best = 0;
  double best_value = -std::numeric_limits<double>::infinity();
  for (size_t v = 0; v < logits.size(); ++v) {
    if (logits[v] == -kInfinity) continue;
    const double value =
        double{logits[v]} + gumbel_noise(row.seed, row.position, static_cast<int64_t>(v));
    if (value > best_value) {
      best = v;
      best_value = value;
    }
  }
  return best;
}

size_t sample(const SampleRow& row, std::vector<float>& logits) {
  const size_t best = highest(logits);
  if (row.temperature == 0) return best;
  for (float& logit : logits) logit /= row.temperature;
  // An infinite logit, or a temperature so low that the best one overflows, leaves no choice.
  if (!std::isfinite(logits[best])) return best;
  apply_min_p(row, logits);
  apply_top_k(row, logits);
  apply_top_p(row, logits);
  return draw(row, logits);
}

// ln softmax of the raw logits: (l - max) - ln(sum of e^(l - max)).
void write_logprobs(const SampleTokens& op, int64_t r, const std::vector<float>& raw,
                    size_t drawn) {
  const float max = raw[highest(raw)];
  const auto below_max = [&](float logit) { return logit == max ? 0.0F : logit - max; };
  double sum = 0;
  for (float logit : raw) sum += double{exp_f32(below_max(logit))};
  const float log_sum = static_cast<float>(log_f64(sum));

  std::vector<size_t> order(raw.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(order.begin(), order.begin() + op.top_logprobs, order.end(),
                    [&](size_t a, size_t b) { return raw[a] != raw[b] ? raw[a] > raw[b] : a < b; });
  order.resize(static_cast<size_t>(op.top_logprobs));
  order.insert(order.begin(), drawn);
  const int64_t begin = r * (op.top_logprobs + 1);
  for (size_t i = 0; i < order.size(); ++i) {
    op.logprob_tokens[begin + static_cast<int64_t>(i)] = static_cast<int32_t>(order[i]);
    op.logprobs[begin + static_cast<int64_t>(i)] = below_max(raw[order[i]]) - log_sum;
  }
  op.ranks[r] = static_cast<int32_t>(
      std::count_if(raw.begin(), raw.end(), [&](float logit) { return logit >= raw[drawn]; }));
}

void write_no_token(const SampleTokens& op, int64_t r) {
  op.tokens[r] = kNoToken;
  if (op.top_logprobs == 0) return;
  const int64_t entries = op.top_logprobs + 1;
  std::fill_n(&op.logprob_tokens[r * entries], entries, kNoToken);
  std::fill_n(&op.logprobs[r * entries], entries, -kInfinity);
  op.ranks[r] = 0;
}

}  // namespace

Status sample_tokens_ref(const SampleTokens& op) {
  TRY(validate(op));
  for (int64_t r = 0; r < op.logits.rows; ++r) {
    const SampleRow& row = op.rows[r];
    const std::vector<float> raw = raw_logits(op, r);
    std::vector<float> logits = raw;
    apply_edits(op, row, logits);
    if (std::none_of(logits.begin(), logits.end(), [](float l) { return std::isfinite(l); })) {
      write_no_token(op, r);
      continue;
    }
    const size_t drawn = sample(row, logits);
    op.tokens[r] = static_cast<int32_t>(drawn);
    if (op.top_logprobs > 0) write_logprobs(op, r, raw, drawn);
  }
  return {};
}

}  // namespace moe::ops
