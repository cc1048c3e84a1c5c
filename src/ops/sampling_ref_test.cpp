#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "ops/noise.hpp"
#include "ops/sampling.hpp"
#include "ops/test_matrix.hpp"

namespace moe::ops {
namespace {

using test::array;
using test::const_array;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SampleRow greedy() {
  SampleRow row;
  row.temperature = 0;
  return row;
}

// The token of one row; -1 with the message in `error` when it fails.
int32_t sample(std::vector<float> logits, SampleRow row, std::vector<LogitEdit> edits = {},
               std::string* error = nullptr) {
  std::vector<SampleRow> rows = {row};
  rows[0].edit_end = static_cast<int32_t>(edits.size());
  std::vector<int32_t> tokens = {-1};
  const auto vocabulary = static_cast<int64_t>(logits.size());
  SampleTokens op;
  op.logits = {logits.data(), DType::kF32, 1, vocabulary, vocabulary};
  op.rows = const_array(rows);
  op.edits = const_array(edits);
  op.tokens = array(tokens);
  const Status status = sample_tokens_ref(op);
  if (!status.ok() && error != nullptr) *error = status.error().message;
  return tokens[0];
}

// What 2,000 draws at different positions give.
std::vector<int> histogram(const std::vector<float>& logits, SampleRow row) {
  std::vector<int> counts(logits.size());
  for (int position = 0; position < 2000; ++position) {
    row.position = position;
    ++counts[static_cast<size_t>(sample(logits, row))];
  }
  return counts;
}

std::set<size_t> drawn(const std::vector<float>& logits, const SampleRow& row) {
  const std::vector<int> counts = histogram(logits, row);
  std::set<size_t> tokens;
  for (size_t v = 0; v < counts.size(); ++v) {
    if (counts[v] > 0) tokens.insert(v);
  }
  return tokens;
}

TEST(SampleTokens, GreedyTakesTheLowestIdOnATie) {
  EXPECT_EQ(sample({1, 3, 2, 3}, greedy()), 1);
  EXPECT_EQ(sample({-kInf, -5, -5}, greedy()), 1);
}

TEST(SampleTokens, NanNeverWins) {
  EXPECT_EQ(sample({kNan, 1, kNan, 2}, greedy()), 3);
  SampleRow row;
  EXPECT_THAT(drawn({kNan, 1, kNan, 2}, row), IsSubsetOf(std::set<size_t>{1, 3}));
}

TEST(SampleTokens, ARowWithoutFiniteLogitGetsNoTokenAndFailsAlone) {
  EXPECT_EQ(sample({kNan, -kInf, kInf}, greedy()), kNoToken);
  EXPECT_EQ(sample({1, 2}, greedy(), {{0, 0, false, -kInf}, {1, 0, false, -kInf}}), kNoToken);

  const std::vector<float> logits = {1, 3, kNan, kNan, 2, 1};
  const std::vector<SampleRow> rows(3, greedy());
  std::vector<int32_t> tokens(3);
  std::vector<int32_t> logprob_tokens(6);
  std::vector<float> logprobs(6);
  std::vector<int32_t> ranks(3);
  SampleTokens op;
  op.logits = {logits.data(), DType::kF32, 3, 2, 2};
  op.rows = const_array(rows);
  op.tokens = array(tokens);
  op.top_logprobs = 1;
  op.logprob_tokens = array(logprob_tokens);
  op.logprobs = array(logprobs);
  op.ranks = array(ranks);
  ASSERT_TRUE(sample_tokens_ref(op).ok());
  EXPECT_EQ(tokens, (std::vector<int32_t>{1, kNoToken, 0}));
  EXPECT_EQ(logprob_tokens, (std::vector<int32_t>{1, 1, kNoToken, kNoToken, 0, 0}));
  EXPECT_EQ(logprobs[2], -kInf);
  EXPECT_EQ(ranks, (std::vector<int32_t>{1, 0, 1}));
}

TEST(SampleTokens, InfinityWinsOutright) {
  SampleRow row;
  row.top_p = 0.5F;
  EXPECT_EQ(sample({1, kInf, 2}, row), 1);
}

TEST(SampleTokens, ATinyTemperatureIsGreedy) {
  SampleRow row;
  row.temperature = 1e-38F;
  EXPECT_EQ(sample({-700, -600, -650}, row), 1);
  EXPECT_EQ(sample({700, 600, 650}, row), 0);
}

TEST(SampleTokens, DrawsFollowTheSoftmax) {
  SampleRow row;
  row.seed = 42;
  const std::vector<int> counts = histogram({std::log(1.0F), std::log(3.0F), std::log(6.0F)}, row);
  EXPECT_NEAR(counts[0], 200, 60);
  EXPECT_NEAR(counts[1], 600, 90);
  EXPECT_NEAR(counts[2], 1200, 100);
}

TEST(SampleTokens, TemperatureFlattensOrSharpens) {
  SampleRow row;
  row.temperature = 0.5F;  // probabilities go as their squares: 1 : 9
  EXPECT_NEAR(histogram({0, std::log(3.0F)}, row)[0], 200, 60);
}

TEST(SampleTokens, ADrawDependsOnSeedAndPositionAlone) {
  const std::vector<float> logits(50, 0.0F);
  SampleRow row;
  row.seed = 9;
  row.position = 4;
  const int32_t token = sample(logits, row);
  EXPECT_EQ(sample(logits, row), token);
  std::vector<float> two(logits);
  two.insert(two.end(), logits.begin(), logits.end());
  SampleRow other;
  const std::vector<SampleRow> rows = {other, row};
  std::vector<int32_t> tokens(2);
  SampleTokens op;
  op.logits = {two.data(), DType::kF32, 2, 50, 50};
  op.rows = const_array(rows);
  op.tokens = array(tokens);
  ASSERT_TRUE(sample_tokens_ref(op).ok());
  EXPECT_EQ(tokens[1], token);
  std::set<int32_t> by_seed;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    row.seed = seed;
    by_seed.insert(sample(logits, row));
  }
  EXPECT_GT(by_seed.size(), 10U);
}

TEST(SampleTokens, NoiseIsPinned) {
  // Fixed by the hash: another implementation must give the same numbers.
  EXPECT_EQ(mix_bits(0), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(uniform_noise(1, 2, 3),
            (static_cast<double>(mix_bits(mix_bits(mix_bits(1) + 2) + 3) >> 12) + 0.5) * 0x1p-52);
  EXPECT_GT(uniform_noise(0, 0, 0), 0);
  EXPECT_TRUE(std::isfinite(gumbel_noise(7, 0, 1)));
}

TEST(SampleTokens, TopKKeepsTies) {
  SampleRow row;
  row.top_k = 2;
  EXPECT_EQ(drawn({1, 2, 2, 3, 0}, row), (std::set<size_t>{1, 2, 3}));
  row.top_k = 1;
  EXPECT_EQ(drawn({1, 2, 2, 3, 0}, row), (std::set<size_t>{3}));
  for (const int32_t off : {-1, 0, 5, 100}) {
    row.top_k = off;
    EXPECT_EQ(drawn({1, 2, 2, 3, 1}, row).size(), 5U) << off;
  }
}

TEST(SampleTokens, TopPDropsWhileTheTailFits) {
  // Probabilities 0.1, 0.2, 0.3, 0.4.
  const std::vector<float> logits = {std::log(1.0F), std::log(2.0F), std::log(3.0F),
                                     std::log(4.0F)};
  SampleRow row;
  row.top_p = 0.95F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{0, 1, 2, 3}));
  row.top_p = 0.85F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{1, 2, 3}));
  row.top_p = 0.5F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{2, 3}));
  row.top_p = 1e-6F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{3}));
}

TEST(SampleTokens, TopPAmongEqualsDropsTheHigherIdAndKeepsOne) {
  SampleRow row;
  row.top_p = 0.4F;  // of four times 0.25, two sum to 0.5 <= 0.6
  EXPECT_EQ(drawn({1, 1, 1, 1}, row), (std::set<size_t>{0, 1}));
  row.top_p = 1e-6F;
  EXPECT_EQ(drawn({1, 1, 1, 1}, row), (std::set<size_t>{0}));
}

TEST(SampleTokens, TopPWorksOnTheSurvivorsOfTopK) {
  // After top-k 2 the two have 3/7 and 4/7; the 3/7 alone is above 1 - 0.6.
  const std::vector<float> logits = {std::log(1.0F), std::log(2.0F), std::log(3.0F),
                                     std::log(4.0F)};
  SampleRow row;
  row.top_k = 2;
  row.top_p = 0.6F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{2, 3}));
  row.top_p = 0.55F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{3}));
}

TEST(SampleTokens, MinPComparesWithTheBestAfterTemperature) {
  const std::vector<float> logits = {std::log(1.0F), std::log(4.0F), std::log(8.0F)};
  SampleRow row;
  row.min_p = 0.4F;
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{1, 2}));
  row.temperature = 0.5F;  // ratios are squared: 1/64, 1/4, 1
  EXPECT_EQ(drawn(logits, row), (std::set<size_t>{2}));
}

TEST(SampleTokens, PenaltiesInOrder) {
  SampleRow row = greedy();
  row.repetition_penalty = 2;
  // A seen positive logit is divided, a negative one multiplied.
  EXPECT_EQ(sample({3, 2}, row, {{0, 0, true, 0}}), 1);
  EXPECT_EQ(sample({-2, -3}, row, {{0, 0, true, 0}}), 1);
  // The bias comes first: (2 + 2) / 2 = 2 < 2.5; the other order would give 3.
  EXPECT_EQ(sample({2, 2.5F}, row, {{0, 0, true, 2}}), 1);
  row = greedy();
  row.frequency_penalty = 0.5F;
  EXPECT_EQ(sample({3, 2}, row, {{0, 2, true, 0}}), 0);  // 2 ties with 2
  EXPECT_EQ(sample({3, 2}, row, {{0, 3, true, 0}}), 1);
  row = greedy();
  row.presence_penalty = 1.5F;
  EXPECT_EQ(sample({3, 2}, row, {{0, 0, true, 0}}), 0);  // in the prompt only: not counted
  EXPECT_EQ(sample({3, 2}, row, {{0, 1, true, 0}}), 1);
}

TEST(SampleTokens, RawLogprobsAndRanks) {
  // BF16 logits 0, 1, 1, 3; token 3 is banned, so token 1 is drawn.
  test::Matrix logits(1, 4, {0, 1, 1, 3});
  std::vector<SampleRow> rows = {greedy()};
  const std::vector<LogitEdit> edits = {{3, 0, false, -kInf}};
  rows[0].edit_end = 1;
  std::vector<int32_t> tokens(1);
  std::vector<int32_t> top(4);
  std::vector<float> logprobs(4);
  std::vector<int32_t> ranks(1);
  ASSERT_TRUE(sample_tokens_ref({logits.view(), const_array(rows), const_array(edits),
                                 array(tokens), 3, array(top), array(logprobs), array(ranks)})
                  .ok());
  EXPECT_THAT(tokens, ElementsAre(1));
  EXPECT_THAT(top, ElementsAre(1, 3, 1, 2));
  EXPECT_THAT(ranks, ElementsAre(3));
  const double sum = std::log(1 + 2 * std::exp(1) + std::exp(3));
  EXPECT_NEAR(logprobs[0], 1 - sum, 1e-6);
  EXPECT_NEAR(logprobs[1], 3 - sum, 1e-6);
}

TEST(SampleTokens, ParametersOutOfRangeAreNamed) {
  const auto error_of = [](auto&& change) {
    SampleRow row;
    change(row);
    std::string error;
    sample({1, 2}, row, {}, &error);
    return error;
  };
  EXPECT_THAT(error_of([](SampleRow& r) { r.temperature = -1; }), HasSubstr("row 0: temperature"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.temperature = kNan; }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.top_p = 0; }), HasSubstr("top_p"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.top_p = 1.01F; }), HasSubstr("top_p"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.min_p = -0.1F; }), HasSubstr("min_p"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.repetition_penalty = 0; }), HasSubstr("repetition"));
  EXPECT_THAT(error_of([](SampleRow& r) { r.presence_penalty = kInf; }), HasSubstr("presence"));
  std::string error;
  for (const int32_t token : {-1, 2}) {
    EXPECT_EQ(sample({1, 2}, greedy(), {{token, 0, false, 1}}, &error), -1);
    EXPECT_THAT(error, HasSubstr("edit of token"));
  }
}

}  // namespace
}  // namespace moe::ops
