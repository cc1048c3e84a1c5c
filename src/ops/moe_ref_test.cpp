#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/moe.hpp"
#include "ops/test_matrix.hpp"

namespace moe::ops {
namespace {

using test::const_array;
using test::expert_matrices;
using test::Matrix;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

float silu(double v) { return static_cast<float>(v / (1 + std::exp(-v))); }

TEST(MoeGateUpSilu, NativeAndLegacyRoundWhereTheChainSays) {
  // gate = 256 + 1 = 257 (BF16: 256), up = 1 + 2^-8 (BF16: 1).
  Matrix x(1, 2, {1, 0.00390625F});
  Matrix gate(1, 2, {256, 256});
  Matrix up(1, 2, {1, 1});
  Matrix act(1, 1);
  const std::vector<int32_t> ids = {0};
  MoeGateUpSilu op{MoeNumerics::kNative,   x.view(),
                   {{}, const_array(ids)}, expert_matrices(gate, 1),
                   expert_matrices(up, 1), act.view()};
  ASSERT_TRUE(moe_gate_up_silu_ref(op).ok());
  EXPECT_EQ(act.value(0, 0), 256);
  op.numerics = MoeNumerics::kLegacy;
  ASSERT_TRUE(moe_gate_up_silu_ref(op).ok());
  EXPECT_EQ(act.value(0, 0), round_bf16(silu(257) * 1.00390625F));
  EXPECT_EQ(act.value(0, 0), 258);
}

TEST(MoeGateUpSilu, LegacyIsTheNumericsOfADescriptionThatSaysNothing) {
  EXPECT_EQ(MoeGateUpSilu{}.numerics, MoeNumerics::kLegacy);
}

TEST(MoeGateUpSilu, RowMapPointersAndMinusOne) {
  Matrix x(2, 1, {1, 2});
  Matrix gate(2, 1, {64, 32});
  Matrix up(2, 1, {1, 3});
  Matrix act(3, 1);
  act.at(1, 0) = to_bf16(9);
  const std::vector<int32_t> ids = {1, -1, 0};
  const std::vector<int32_t> rows = {0, 1, 1};
  MoeGateUpSilu op{MoeNumerics::kNative,
                   x.view(),
                   {const_array(rows), const_array(ids)},
                   expert_matrices(gate, 2),
                   expert_matrices(up, 2),
                   act.view()};
  ASSERT_TRUE(moe_gate_up_silu_ref(op).ok());
  EXPECT_THAT(act.values(), ElementsAre(32 * 3, 0, 128 * 2));
  // The same through addresses, experts in the other order.
  const std::vector<int64_t> pointers = {reinterpret_cast<int64_t>(gate.data.data() + 1),
                                         reinterpret_cast<int64_t>(gate.data.data())};
  op.gate.base = nullptr;
  op.gate.pointers = const_array(pointers);
  ASSERT_TRUE(moe_gate_up_silu_ref(op).ok());
  EXPECT_THAT(act.values(), ElementsAre(64 * 3, 0, 64 * 2));
}

TEST(MoeGroupedGemm, WeightMeetsTheAccumulatorBeforeTheOnlyRounding) {
  // dot = 257: b(257 * 0.75) = b(192.75) = 193, while b(257) * 0.75 = 192.
  Matrix x(1, 2, {256, 1});
  Matrix w(1, 2, {1, 1});
  Matrix y(1, 1);
  const std::vector<int32_t> ids = {0};
  const std::vector<float> weights = {0.75F};
  const PairMap pairs{{}, const_array(ids)};
  ASSERT_TRUE(moe_grouped_gemm_weighted_ref(
                  {x.view(), pairs, expert_matrices(w, 1), const_array(weights), y.view()})
                  .ok());
  EXPECT_EQ(y.value(0, 0), 193);
  ASSERT_TRUE(moe_grouped_gemm_ref({x.view(), pairs, expert_matrices(w, 1), y.view()}).ok());
  EXPECT_EQ(y.value(0, 0), 256);
  float wide = 0;
  ASSERT_TRUE(
      moe_grouped_gemm_ref({x.view(), pairs, expert_matrices(w, 1), {&wide, DType::kF32, 1, 1, 1}})
          .ok());
  EXPECT_EQ(wide, 257);
}

TEST(MoeCombine, SumsInFp32AndSkipsMinusOne) {
  // BF16 additions would lose each 1 beside 256.
  Matrix rows(4, 1, {256, 1, 100, 1});
  Matrix y(1, 1);
  const std::vector<int32_t> ids = {0, 1, -1, 2};
  ASSERT_TRUE(moe_combine_preweighted_ref({rows.view(), const_array(ids), 4, y.view()}).ok());
  EXPECT_EQ(y.value(0, 0), 258);
  const std::vector<float> weights = {0.5F, 3, std::nanf(""), 1};
  ASSERT_TRUE(
      moe_combine_ref({rows.view(), const_array(ids), const_array(weights), 4, y.view()}).ok());
  EXPECT_EQ(y.value(0, 0), 132);
}

TEST(MoeOps, IdsAndRowsOutsideGiveErrorAndNoWrite) {
  Matrix x(2, 4);
  Matrix w(6, 4);
  const std::vector<float> weights = {1, 1};
  for (const int32_t bad : {-2, 3, 1 << 30}) {
    Matrix y(2, 2, {5, 5, 5, 5});
    const std::vector<int32_t> ids = {0, bad};
    const PairMap pairs{{}, const_array(ids)};
    const ExpertMatrices experts = expert_matrices(w, 3);
    for (const Status& status :
         {moe_gate_up_silu_ref({MoeNumerics::kNative, x.view(), pairs, experts, experts, y.view()}),
          moe_grouped_gemm_ref({x.view(), pairs, experts, y.view()}),
          moe_grouped_gemm_weighted_ref(
              {x.view(), pairs, experts, const_array(weights), y.view()})}) {
      ASSERT_FALSE(status.ok());
      EXPECT_THAT(status.error().message, HasSubstr("expert_ids[1]"));
    }
    EXPECT_THAT(y.values(), ElementsAre(5, 5, 5, 5));
  }
  for (const int32_t bad : {-1, 2}) {
    Matrix y(2, 2, {5, 5, 5, 5});
    const std::vector<int32_t> ids = {0, 1};
    const std::vector<int32_t> rows = {bad, 0};
    const Status status = moe_grouped_gemm_ref(
        {x.view(), {const_array(rows), const_array(ids)}, expert_matrices(w, 3), y.view()});
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("row_map[0]"));
    EXPECT_THAT(y.values(), ElementsAre(5, 5, 5, 5));
  }
}

TEST(MoeOps, CombineRefusesIdsBelowMinusOneAndWrongCounts) {
  Matrix rows(2, 1);
  Matrix y(1, 1);
  std::vector<int32_t> ids = {0, -2};
  EXPECT_FALSE(moe_combine_preweighted_ref({rows.view(), const_array(ids), 2, y.view()}).ok());
  ids = {0};
  EXPECT_FALSE(moe_combine_preweighted_ref({rows.view(), const_array(ids), 2, y.view()}).ok());
  ids = {0, 1};
  EXPECT_FALSE(moe_combine_preweighted_ref({rows.view(), const_array(ids), 0, y.view()}).ok());
  const std::vector<float> weights = {1};
  EXPECT_FALSE(
      moe_combine_ref({rows.view(), const_array(ids), const_array(weights), 2, y.view()}).ok());
}

}  // namespace
}  // namespace moe::ops
