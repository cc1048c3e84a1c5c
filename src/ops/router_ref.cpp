// The reference of RouterTopK. Scores are computed in FP64 and compared there when a bias or a
// group sum makes neighbours that FP32 could tie; weights are rounded to FP32 once, at the end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/math64.hpp"
#include "ops/moe.hpp"
#include "ops/validate.hpp"

namespace moe::ops {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// NaN loses against everything, -inf included. Equal values do not beat each other, so a scan in
// ascending order keeps the lower index.
bool beats(double a, double b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

// e^(l - max) / sum over `logits`, in their order; what is not a number counts as 0.
std::vector<double> softmax(const std::vector<double>& logits) {
  double max = kMinusInfinity;
  for (double logit : logits) max = logit > max ? logit : max;
  std::vector<double> scores(logits.size());
  double sum = 0;
  for (size_t e = 0; e < logits.size(); ++e) {
    const double power = exp_f64(logits[e] - max);
    scores[e] = std::isnan(power) ? 0 : power;
    sum += scores[e];
  }
  for (double& score : scores) score = sum > 0 ? score / sum : 0;
  return scores;
}

double sigmoid(double logit) {
  const double score = 1.0 / (1.0 + exp_f64(-logit));
  return std::isnan(score) ? 0 : score;
}

// The working arrays of one token.
struct Token {
  std::vector<double> logits;
  std::vector<double> scores;    // empty for kSoftmaxAfterTopK
  std::vector<double> compared;  // what decides among experts
  std::vector<char> out;         // chosen already, or in a dropped group
};

Token scored(const RouterTopK& op, int64_t t) {
  Token token;
  const size_t experts = static_cast<size_t>(op.logits.cols);
  token.logits.resize(experts);
  for (size_t e = 0; e < experts; ++e) {
    token.logits[e] =
        op.logits.dtype == DType::kF32 ? op.logits.f32_row(t)[e] : to_f32(op.logits.bf16_row(t)[e]);
  }
  token.compared = token.logits;
  token.out.assign(experts, 0);
  if (op.scoring == RouterScoring::kSoftmax) token.scores = softmax(token.logits);
  if (op.scoring == RouterScoring::kSigmoid) {
    token.scores.resize(experts);
    for (size_t e = 0; e < experts; ++e) token.scores[e] = sigmoid(token.logits[e]);
  }
  if (op.bias.absent()) return token;
  for (size_t e = 0; e < experts; ++e) {
    if (std::isnan(token.logits[e])) continue;  // stays NaN, so that it never wins
    const double score = token.scores.empty() ? token.logits[e] : token.scores[e];
    token.compared[e] = score + double{op.bias[static_cast<int64_t>(e)]};
  }
  return token;
}

// The value of the group of `size` experts from `begin`.
double group_value(const RouterTopK& op, const Token& token, size_t begin, size_t size) {
  // Logits order experts as their scores do, but sums of two logits do not order as sums of scores.
  const bool by_score =
      op.group_score == GroupScore::kTop2Sum && op.bias.absent() && !token.scores.empty();
  double best = std::numeric_limits<double>::quiet_NaN();
  double second = best;
  for (size_t e = begin; e < begin + size; ++e) {
    if (std::isnan(token.compared[e])) continue;
    const double value = by_score ? token.scores[e] : token.compared[e];
    if (beats(value, best)) {
      second = best;
      best = value;
    } else if (beats(value, second)) {
      second = value;
    }
  }
  if (op.group_score == GroupScore::kMax || std::isnan(second)) return best;
  return best + second;
}

// The index of the best entry that is not out yet; the lowest on a tie.
size_t best_of(const std::vector<double>& values, const std::vector<char>& out) {
  size_t best = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (out[i] != 0) continue;
    if (best == values.size() || beats(values[i], values[best])) best = i;
  }
  return best;
}

void drop_groups(const RouterTopK& op, Token& token) {
  const size_t groups = static_cast<size_t>(op.groups);
  const size_t size = token.compared.size() / groups;
  std::vector<double> values(groups);
  for (size_t g = 0; g < groups; ++g) values[g] = group_value(op, token, g * size, size);
  std::vector<char> kept(groups, 0);
  for (int64_t k = 0; k < op.kept_groups; ++k) kept[best_of(values, kept)] = 1;
  for (size_t e = 0; e < token.out.size(); ++e) token.out[e] = kept[e / size] == 0 ? 1 : 0;
}

// Weights of the chosen experts, in FP64.
std::vector<double> weights_of(const RouterTopK& op, const Token& token,
                               const std::vector<size_t>& chosen) {
  std::vector<double> weights;
  for (size_t e : chosen)
    weights.push_back(token.scores.empty() ? token.logits[e] : token.scores[e]);
  if (op.scoring == RouterScoring::kSoftmaxAfterTopK) weights = softmax(weights);
  if (!op.renormalize) return weights;
  double sum = 0;
  for (double weight : weights) sum += weight;
  if (!(sum > 0)) return weights;
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

Status router_top_k_ref(const RouterTopK& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.logits.rows; ++t) {
    Token token = scored(op, t);
    if (op.groups > 1) drop_groups(op, token);
    std::vector<size_t> chosen;
    for (int64_t k = 0; k < op.slots; ++k) {
      chosen.push_back(best_of(token.compared, token.out));
      token.out[chosen.back()] = 1;
    }
    const std::vector<double> weights = weights_of(op, token, chosen);
    for (size_t k = 0; k < chosen.size(); ++k) {
      const int64_t p = t * op.slots + static_cast<int64_t>(k);
      op.ids[p] = static_cast<int32_t>(chosen[k]);
      op.weights[p] = static_cast<float>(weights[k] * double{op.scale});
    }
  }
  return {};
}

}  // namespace moe::ops
