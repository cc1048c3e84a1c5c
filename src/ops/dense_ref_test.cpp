#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/dense.hpp"
#include "ops/dot.hpp"
#include "ops/exp.hpp"
#include "ops/test_matrix.hpp"

namespace moe::ops {
namespace {

using test::array;
using test::const_array;
using test::Matrix;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Dot32, FollowsDoubleForEveryTail) {
  const Matrix x = Matrix::random(1, 100, 1);
  const Matrix w = Matrix::random(1, 100, 2);
  for (int64_t k = 0; k <= 100; ++k) {
    double want = 0;
    for (int64_t i = 0; i < k; ++i) want += double{x.value(0, i)} * double{w.value(0, i)};
    EXPECT_NEAR(static_cast<double>(dot32(x.data.data(), w.data.data(), k)), want, 1e-5) << k;
  }
}

TEST(Dot32, LanesTakeTheOddElementFirstAndFoldInHalves) {
  // In lane 0: 1 + 2^24 = 2^24 by rounding to even, then - 2^24 of lane 8 gives 0. Any order that
  // meets the large pair first would give 1.
  Matrix x(1, 18);
  x.at(0, 1) = to_bf16(1.0F);           // lane 0, first
  x.at(0, 0) = to_bf16(16777216.0F);    // lane 0, second
  x.at(0, 17) = to_bf16(-16777216.0F);  // lane 8
  Matrix ones(1, 18);
  for (Bf16& one : ones.data) one = to_bf16(1.0F);
  EXPECT_EQ(dot32(x.data.data(), ones.data.data(), 18), 0.0F);
  // Element 2 is lane 1: it meets lane 0 only in the last fold, after lane 8 cancelled.
  std::swap(x.at(0, 1), x.at(0, 2));
  EXPECT_EQ(dot32(x.data.data(), ones.data.data(), 18), 1.0F);
}

TEST(GatherRows, CopiesRowsAndHonoursStrides) {
  Matrix table = Matrix::random(4, 3, 7, 1, 2);
  Matrix out(3, 3, 1);
  const std::vector<int32_t> ids = {3, 0, 3};
  ASSERT_TRUE(gather_rows_ref({table.view(), const_array(ids), out.view()}).ok());
  for (int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(out.at(0, c), table.at(3, c));
    EXPECT_EQ(out.at(1, c), table.at(0, c));
    EXPECT_EQ(out.at(2, c), table.at(3, c));
  }
}

TEST(GatherRows, IdOutsideTheTableGivesErrorAndNoWrite) {
  Matrix table = Matrix::random(4, 3, 7);
  for (const int32_t bad : {-1, 4}) {
    Matrix out(2, 3);
    const std::vector<int32_t> ids = {1, bad};
    const Status status = gather_rows_ref({table.view(), const_array(ids), out.view()});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr("kGatherRows: ids[1] is"));
    EXPECT_EQ(out.at(0, 0), Bf16{});
  }
}

TEST(RmsNorm, NormalisesByTheMeanSquare) {
  // mean square (9 + 16 + 0 + 0) / 4 = 6.25, rstd = 0.4.
  Matrix x(1, 4, {3, -4, 0, 0});
  Matrix weight(1, 4, {1, 2, 1, 1});
  Matrix out(1, 4);
  ASSERT_TRUE(rms_norm_ref({x.view(), {}, weight.view(), 0, out.view()}).ok());
  EXPECT_THAT(out.values(), ElementsAre(round_bf16(1.2F), round_bf16(-3.2F), 0, 0));
}

TEST(RmsNorm, WithResidualTheRoundedSumIsNormalised) {
  // 256 + 1 rounds to 256 in BF16; the residual keeps 256 and the norm sees 256.
  Matrix x(1, 2, {1, 0});
  Matrix residual(1, 2, {256, 256});
  Matrix weight(1, 2, {1, 1});
  Matrix out(1, 2);
  ASSERT_TRUE(rms_norm_ref({x.view(), residual.view(), weight.view(), 0, out.view()}).ok());
  EXPECT_THAT(residual.values(), ElementsAre(256, 256));
  EXPECT_THAT(out.values(), ElementsAre(1, 1));
}

TEST(RmsNorm, FollowsDoubleOnOddWidthsAndInPlace) {
  Matrix x = Matrix::random(3, 37, 5, 2);
  Matrix weight = Matrix::random(1, 37, 6);
  Matrix out(3, 37);
  ASSERT_TRUE(rms_norm_ref({x.view(), {}, weight.view(), 1e-6F, out.view()}).ok());
  for (int64_t r = 0; r < 3; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < 37; ++c) squares += double{x.value(r, c)} * double{x.value(r, c)};
    const double rstd = 1 / std::sqrt(squares / 37 + 1e-6);
    for (int64_t c = 0; c < 37; ++c) {
      const double want = double{x.value(r, c)} * rstd * double{weight.value(0, c)};
      EXPECT_NEAR(double{out.value(r, c)}, want, std::fabs(want) / 256 + 1e-9);
    }
  }
  ASSERT_TRUE(rms_norm_ref({x.view(), {}, weight.view(), 1e-6F, x.view()}).ok());
  EXPECT_EQ(x.data, out.data);
}

TEST(Rope, RotatesHalvesAndLeavesTheRest) {
  Matrix x(1, 6, {1, 2, 3, 4, 5, 6});  // one head of 6, 4 rotated: pairs (0,2), (1,3)
  Matrix table(2, 4, {1, 1, 0, 0, 0, 0.5F, 1, 0.25F});
  const std::vector<int32_t> positions = {1};
  ASSERT_TRUE(rope_ref({x.view(), 6, 4, false, const_array(positions), table.view()}).ok());
  EXPECT_THAT(x.values(), ElementsAre(-3, 2 * 0.5F - 4 * 0.25F, 1, 4 * 0.5F + 2 * 0.25F, 5, 6));
}

TEST(Rope, InterleavedPairsAreNeighboursAndHeadsRepeat) {
  Matrix x(1, 8, {1, 2, 3, 4, 1, 2, 3, 4});
  Matrix table(1, 4, {0, 1, 1, 0});
  const std::vector<int32_t> positions = {0};
  ASSERT_TRUE(rope_ref({x.view(), 4, 4, true, const_array(positions), table.view()}).ok());
  EXPECT_THAT(x.values(), ElementsAre(-2, 1, 3, 4, -2, 1, 3, 4));
}

TEST(Rope, EachProductIsFp32AndEachResultRoundedOnce) {
  // 1.015625^2 - 1 * 1: rounding the product to BF16 first would lose the 2^-12.
  Matrix x(1, 2, {1.015625F, 1});
  Matrix table(1, 2, {1.015625F, 1});
  const std::vector<int32_t> positions = {0};
  ASSERT_TRUE(rope_ref({x.view(), 2, 2, false, const_array(positions), table.view()}).ok());
  EXPECT_EQ(x.value(0, 0), 0.031494140625F);
}

TEST(Rope, PositionOutsideTheTableGivesErrorAndNoWrite) {
  for (const int32_t bad : {-1, 3}) {
    Matrix x(2, 2, {1, 2, 3, 4});
    Matrix table = Matrix::random(3, 2, 1);
    const std::vector<int32_t> positions = {0, bad};
    const Status status = rope_ref({x.view(), 2, 2, false, const_array(positions), table.view()});
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("positions[1]"));
    EXPECT_EQ(x.value(0, 0), 1);
  }
}

TEST(Linear, AddsTheBiasBeforeTheOnlyRounding) {
  // 256 + 1 + 1 = 258 is a BF16 number; rounding the dot (257 -> 256) first would give 257 -> 256.
  Matrix x(1, 2, {256, 1});
  Matrix w(1, 2, {1, 1});
  Matrix bias(1, 1, {1});
  Matrix y(1, 1);
  ASSERT_TRUE(linear_ref({x.view(), w.view(), bias.view(), y.view()}).ok());
  EXPECT_EQ(y.value(0, 0), 258);
  ASSERT_TRUE(linear_ref({x.view(), w.view(), {}, y.view()}).ok());
  EXPECT_EQ(y.value(0, 0), 256);
}

TEST(Linear, Fp32OutputIsTheAccumulator) {
  Matrix x(1, 2, {256, 1});
  Matrix w(2, 2, {1, 1, 0, 3});
  std::vector<float> y(2);
  ASSERT_TRUE(linear_ref({x.view(), w.view(), {}, {y.data(), DType::kF32, 1, 2, 2}}).ok());
  EXPECT_THAT(y, ElementsAre(257, 3));
}

TEST(Linear, ContradictingShapesGiveErrorWithBothShapes) {
  Matrix x(1, 3);
  Matrix w(2, 4);
  Matrix y(1, 2);
  const Status status = linear_ref({x.view(), w.view(), {}, y.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("kLinearBf16: x is [1, 3] bf16, wanted [1, 4] bf16"));
  EXPECT_FALSE(status.error().fix.empty());
}

TEST(LinearF32, WeightsKeepTheirFp32Values) {
  Matrix x = Matrix::random(2, 37, 3);
  std::vector<float> w(3 * 37);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.1F + 1e-4F * static_cast<float>(i);
  std::vector<float> y(6);
  const ConstView weights{w.data(), DType::kF32, 3, 37, 37};
  ASSERT_TRUE(linear_f32_ref({x.view(), weights, {y.data(), DType::kF32, 2, 3, 3}}).ok());
  for (size_t t = 0; t < 2; ++t) {
    for (size_t n = 0; n < 3; ++n) {
      double want = 0;
      for (size_t k = 0; k < 37; ++k) {
        want += double{x.value(static_cast<int64_t>(t), static_cast<int64_t>(k))} * w[n * 37 + k];
      }
      EXPECT_NEAR(y[t * 3 + n], want, 1e-5);
    }
  }
  Matrix narrow(3, 37);
  const Status status = linear_f32_ref({x.view(), narrow.view(), {y.data(), DType::kF32, 2, 3, 3}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("kLinearF32: w is [3, 37] bf16"));
}

TEST(SiluMul, Bf16InputsRoundSiluBeforeTheProduct) {
  Matrix gate = Matrix::random(4, 33, 3, 6);
  Matrix up = Matrix::random(4, 33, 4, 2);
  Matrix out(4, 33);
  ASSERT_TRUE(silu_mul_ref({gate.view(), up.view(), out.view()}).ok());
  int differs_from_one_rounding = 0;
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 33; ++c) {
      const double g = gate.value(r, c);
      const float silu = static_cast<float>(g / (1 + std::exp(-g)));
      EXPECT_EQ(out.value(r, c), round_bf16(round_bf16(silu) * up.value(r, c)));
      if (out.value(r, c) != round_bf16(silu * up.value(r, c))) ++differs_from_one_rounding;
    }
  }
  EXPECT_GT(differs_from_one_rounding, 10);
}

TEST(SiluMul, Fp32InputsRoundOnce) {
  const std::vector<float> gate = {1.234567F, -2.5F};
  const std::vector<float> up = {0.7654321F, 3.3F};
  Matrix out(1, 2);
  ASSERT_TRUE(
      silu_mul_ref(
          {{gate.data(), DType::kF32, 1, 2, 2}, {up.data(), DType::kF32, 1, 2, 2}, out.view()})
          .ok());
  for (size_t i = 0; i < 2; ++i) {
    const double g = gate[i];
    const double want = g / (1 + std::exp(-g)) * double{up[i]};
    EXPECT_EQ(out.values()[i], round_bf16(static_cast<float>(want)));
  }
}

TEST(SiluMul, MixedTypesAreRefused) {
  const std::vector<float> gate = {1, 2};
  Matrix up(1, 2);
  Matrix out(1, 2);
  const Status status = silu_mul_ref({{gate.data(), DType::kF32, 1, 2, 2}, up.view(), out.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("up is [1, 2] bf16, wanted [1, 2] f32"));
}

TEST(ScaleAdd, RoundsTheProductBeforeTheSum) {
  Matrix x = Matrix::random(4, 33, 3, 6);
  Matrix addend = Matrix::random(4, 33, 4, 2);
  Matrix out(4, 33);
  ASSERT_TRUE(scale_add_ref({x.view(), {}, 0.22F, addend.view(), out.view()}).ok());
  int differs_from_one_rounding = 0;
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 33; ++c) {
      const float product = x.value(r, c) * 0.22F;
      EXPECT_EQ(out.value(r, c), round_bf16(addend.value(r, c) + round_bf16(product)));
      if (out.value(r, c) != round_bf16(addend.value(r, c) + product)) ++differs_from_one_rounding;
    }
  }
  EXPECT_GT(differs_from_one_rounding, 5);
}

TEST(ScaleAdd, GateIsTheRoundedSigmoidOfEachRow) {
  Matrix x = Matrix::random(3, 5, 3, 6);
  Matrix gate = Matrix::random(3, 1, 4, 3);
  Matrix out(3, 5);
  ASSERT_TRUE(scale_add_ref({x.view(), gate.view(), 1, {}, out.view()}).ok());
  for (int64_t r = 0; r < 3; ++r) {
    const float share = static_cast<float>(1 / (1 + std::exp(-double{gate.value(r, 0)})));
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(out.value(r, c), round_bf16(x.value(r, c) * round_bf16(share)));
    }
  }
}

TEST(ScaleAdd, InvalidDescriptionsAreRefusedByOperand) {
  Matrix x(2, 3);
  Matrix narrow(2, 2);
  Matrix gate(2, 1);
  const auto message = [](const ScaleAdd& op) {
    const Status status = scale_add_ref(op);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_THAT(message({narrow.view(), {}, 1, {}, x.view()}), HasSubstr("kScaleAdd: x is [2, 2]"));
  EXPECT_THAT(message({x.view(), narrow.view(), 1, {}, x.view()}), HasSubstr("gate is [2, 2]"));
  EXPECT_THAT(message({x.view(), {}, 1, narrow.view(), x.view()}), HasSubstr("addend is [2, 2]"));
  EXPECT_THAT(message({x.view(), {}, INFINITY, {}, x.view()}), HasSubstr("scale is inf"));
  EXPECT_THAT(message({x.view(), gate.view(), 2, {}, x.view()}), HasSubstr("1 beside a gate"));
}

TEST(DenseOps, ZeroRowsDoNothing) {
  Matrix table = Matrix::random(2, 4, 1);
  const std::vector<int32_t> none;
  Matrix empty(0, 4);
  EXPECT_TRUE(gather_rows_ref({table.view(), const_array(none), empty.view()}).ok());
  Matrix weight(1, 4);
  EXPECT_TRUE(rms_norm_ref({empty.view(), {}, weight.view(), 0, empty.view()}).ok());
  Matrix w(3, 4);
  Matrix y(0, 3);
  EXPECT_TRUE(linear_ref({empty.view(), w.view(), {}, y.view()}).ok());
  EXPECT_TRUE(silu_mul_ref({empty.view(), empty.view(), empty.view()}).ok());
}

}  // namespace
}  // namespace moe::ops
