#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "ops/math64.hpp"
#include "ops/moe.hpp"
#include "ops/test_matrix.hpp"

namespace moe::ops {
namespace {

using test::array;
using test::const_array;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One token's routing.
struct Choice {
  std::vector<int32_t> ids;
  std::vector<float> weights;
  std::string error;
};

Choice route(std::vector<float> logits, int64_t slots, RouterTopK op = {},
             std::vector<float> bias = {}) {
  Choice choice{std::vector<int32_t>(static_cast<size_t>(slots)),
                std::vector<float>(static_cast<size_t>(slots)), ""};
  const auto experts = static_cast<int64_t>(logits.size());
  op.logits = {logits.data(), DType::kF32, 1, experts, experts};
  if (!bias.empty()) op.bias = const_array(bias);
  op.slots = slots;
  op.ids = array(choice.ids);
  op.weights = array(choice.weights);
  const Status status = router_top_k_ref(op);
  if (!status.ok()) choice.error = status.error().message;
  return choice;
}

RouterTopK grouped(int64_t groups, int64_t kept, GroupScore score) {
  RouterTopK op;
  op.groups = groups;
  op.kept_groups = kept;
  op.group_score = score;
  return op;
}

TEST(Math64, ExpAndLogFollowLibm) {
  for (double x = -740; x < 709; x += 0.73) {
    EXPECT_NEAR(exp_f64(x) / std::exp(x), 1, x < -700 ? 1e-1 : 1e-15) << x;
  }
  for (double x = 1e-300; x < 1e300; x *= 3.7) {
    EXPECT_NEAR(log_f64(x), std::log(x), std::fabs(std::log(x)) * 1e-15 + 1e-17) << x;
  }
  EXPECT_EQ(exp_f64(0), 1);
  EXPECT_EQ(exp_f64(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exp_f64(std::nan(""))));
  EXPECT_EQ(log_f64(1), 0);
}

TEST(RouterTopK, SoftmaxOverAllBestFirst) {
  const Choice c = route({0, std::log(2.0F), std::log(5.0F)}, 2);
  EXPECT_THAT(c.ids, ElementsAre(2, 1));
  EXPECT_THAT(c.weights, ElementsAre(FloatNear(0.625F, 1e-6F), FloatNear(0.25F, 1e-6F)));
}

TEST(RouterTopK, RenormalizeThenScale) {
  RouterTopK op;
  op.renormalize = true;
  op.scale = 7;
  const Choice c = route({0, std::log(2.0F), std::log(5.0F)}, 2, op);
  EXPECT_THAT(c.weights, ElementsAre(FloatNear(5, 1e-5F), FloatNear(2, 1e-5F)));
}

TEST(RouterTopK, SoftmaxAfterTopKIsOverTheChosen) {
  RouterTopK op;
  op.scoring = RouterScoring::kSoftmaxAfterTopK;
  const Choice c = route({3, std::log(3.0F), 0, 3 + std::log(3.0F)}, 2, op);
  EXPECT_THAT(c.ids, ElementsAre(3, 0));
  EXPECT_THAT(c.weights, ElementsAre(FloatNear(0.75F, 1e-6F), FloatNear(0.25F, 1e-6F)));
}

TEST(RouterTopK, SigmoidWithBiasChoosesByTheSumAndWeighsByTheScore) {
  RouterTopK op;
  op.scoring = RouterScoring::kSigmoid;
  const Choice c = route({0, 5, -1}, 1, op, {1, 0, 0});
  EXPECT_THAT(c.ids, ElementsAre(0));
  EXPECT_THAT(c.weights, ElementsAre(0.5F));
}

TEST(RouterTopK, BiasedScoresCloserThanFp32AreStillOrdered) {
  // sigmoid(0) + 2 and sigmoid(1e-7) + 2 are one FP32 number, but not one score.
  RouterTopK op;
  op.scoring = RouterScoring::kSigmoid;
  EXPECT_THAT(route({0, 1e-7F, -9}, 2, op, {2, 2, 0}).ids, ElementsAre(1, 0));
}

TEST(RouterTopK, TiesGoToTheLowerIndex) {
  EXPECT_THAT(route(std::vector<float>(8, 0.5F), 4).ids, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(route({1, 2, 2, 1, 2}, 4).ids, ElementsAre(1, 2, 4, 0));
  EXPECT_THAT(route(std::vector<float>(8, 0), 3, grouped(4, 2, GroupScore::kMax)).ids,
              ElementsAre(0, 1, 2));
  EXPECT_THAT(route({0, 0, 1, 1, 1, 1, 0, 0}, 2, grouped(4, 1, GroupScore::kTop2Sum)).ids,
              ElementsAre(2, 3));
}

TEST(RouterTopK, GroupsByTheirBestOrByTheirTwoBest) {
  const std::vector<float> logits = {3, -9, 2, 2, 0, 0};
  EXPECT_THAT(route(logits, 2, grouped(3, 1, GroupScore::kMax)).ids, ElementsAre(0, 1));
  RouterTopK op = grouped(3, 1, GroupScore::kTop2Sum);
  op.scoring = RouterScoring::kSigmoid;
  EXPECT_THAT(route(logits, 2, op).ids, ElementsAre(2, 3));
}

TEST(RouterTopK, TwoBestWithoutBiasAreSumsOfScores) {
  // By logits group 0 leads (20 - 1 > 2 + 2), by sigmoid group 1 does (1 + .27 < .88 + .88).
  RouterTopK op = grouped(2, 1, GroupScore::kTop2Sum);
  op.scoring = RouterScoring::kSigmoid;
  EXPECT_THAT(route({20, -1, 2, 2}, 2, op).ids, ElementsAre(2, 3));
}

TEST(RouterTopK, DroppedGroupsNeverWinEvenAgainstNan) {
  const Choice c = route({1, 9, kNan, kNan, 8, kNan}, 4, grouped(3, 2, GroupScore::kMax));
  EXPECT_THAT(c.ids, ElementsAre(1, 4, 0, 5));
}

TEST(RouterTopK, NanRowsGiveUniqueIdsAndFiniteWeights) {
  const std::vector<std::vector<float>> rows = {
      {kNan, kNan, kNan, kNan},  {kNan, 1, kNan, 2},      {kInf, 1, 2, 3},
      {kInf, kInf, kNan, -kInf}, {-kInf, -kInf, kNan, 0}, {-kInf, -kInf, -kInf, -kInf}};
  for (const auto& row : rows) {
    for (const RouterScoring scoring :
         {RouterScoring::kSoftmax, RouterScoring::kSoftmaxAfterTopK, RouterScoring::kSigmoid}) {
      for (const bool biased : {false, true}) {
        RouterTopK op;
        op.scoring = scoring;
        op.renormalize = true;
        const Choice c =
            route(row, 3, op, biased ? std::vector<float>{1, 2, 3, 4} : std::vector<float>{});
        ASSERT_EQ(c.error, "");
        EXPECT_EQ(std::set<int32_t>(c.ids.begin(), c.ids.end()).size(), 3U);
        for (const float weight : c.weights) EXPECT_TRUE(std::isfinite(weight));
      }
    }
  }
  const Choice nan = route(std::vector<float>(6, kNan), 4);
  EXPECT_THAT(nan.ids, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(nan.weights, Each(0.0F));
  EXPECT_THAT(route({kNan, 1, kNan, 2}, 3).ids, ElementsAre(3, 1, 0));
}

TEST(RouterTopK, ANanRowLeavesOthersAlone) {
  std::vector<float> logits = {1, 2, 3, kNan, kNan, kNan, 1, 2, 3};
  std::vector<int32_t> ids(6);
  std::vector<float> weights(6);
  RouterTopK op;
  op.logits = {logits.data(), DType::kF32, 3, 3, 3};
  op.slots = 2;
  op.ids = array(ids);
  op.weights = array(weights);
  ASSERT_TRUE(router_top_k_ref(op).ok());
  EXPECT_THAT(ids, ElementsAre(2, 1, 0, 1, 2, 1));
  EXPECT_EQ(weights[0], weights[4]);
  EXPECT_EQ(weights[1], weights[5]);
}

TEST(RouterTopK, ImpossibleChoicesGiveErrors) {
  EXPECT_THAT(route({1, 2}, 3).error, HasSubstr("3 experts wanted a token, but only 2"));
  EXPECT_EQ(route({1, 2}, 2).error, "");
  EXPECT_THAT(route({1, 2, 3, 4}, 3, grouped(4, 2, GroupScore::kMax)).error,
              HasSubstr("only 2 are candidates"));
  EXPECT_THAT(route({1, 2, 3}, 1, grouped(2, 1, GroupScore::kMax)).error,
              HasSubstr("3 experts in 2 groups"));
  EXPECT_THAT(route({1, 2}, 1, grouped(2, 3, GroupScore::kMax)).error,
              HasSubstr("kept_groups is 3"));
  EXPECT_THAT(route({1, 2}, 1, {}, {1}).error, HasSubstr("bias has 1 entries, wanted 2"));
}

}  // namespace
}  // namespace moe::ops
