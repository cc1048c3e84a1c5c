#include "ops/exp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace moe::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance between neighbouring FP32 numbers around a positive double.
double ulp_of(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST(Exp, StaysWithinOneUlpOfDouble) {
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {  // a prime: all mantissas
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(std::fabs(x) < 110)) continue;
    const double want = std::exp(static_cast<double>(x));
    const float got = exp_f32(x);
    if (want > 0x1.ffffffp127) {
      ASSERT_EQ(got, kInf) << x;
      continue;
    }
    worst = std::max(worst, std::fabs(static_cast<double>(got) - want) / ulp_of(want));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(Exp, SpecialValues) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-0.0F), 1.0F);
  EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-kInf)), 0U);
  EXPECT_EQ(exp_f32(kInf), kInf);
  EXPECT_EQ(exp_f32(std::numeric_limits<float>::max()), kInf);
  EXPECT_EQ(exp_f32(std::numeric_limits<float>::lowest()), 0.0F);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
  EXPECT_TRUE(std::isnan(exp_f32(-kNan)));
}

TEST(Exp, BothSidesOfOverflowAndUnderflow) {
  EXPECT_TRUE(std::isfinite(exp_f32(88.72283F)));
  EXPECT_EQ(exp_f32(88.72284F), kInf);
  EXPECT_EQ(exp_f32(-103.97F), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(exp_f32(-103.98F), 0.0F);
}

TEST(Exp, VectorisedLoopGivesTheBitsOfTheScalarCall) {
  constexpr int kCount = 4096;
  static std::array<float, kCount> in;
  static std::array<float, kCount> out;
  for (int i = 0; i < kCount; ++i)
    in[static_cast<size_t>(i)] = -110.0F + 0.05F * static_cast<float>(i);
  for (size_t i = 0; i < kCount; ++i) out[i] = silu_f32(in[i]);
  for (size_t i = 0; i < kCount; ++i) {
    volatile float one = in[i];
    EXPECT_EQ(std::bit_cast<uint32_t>(silu_f32(one)), std::bit_cast<uint32_t>(out[i])) << one;
  }
}

TEST(Silu, SpecialValues) {
  EXPECT_EQ(silu_f32(0.0F), 0.0F);
  EXPECT_EQ(std::bit_cast<uint32_t>(silu_f32(-200.0F)), 0x80000000U);  // -0
  EXPECT_TRUE(std::isnan(silu_f32(-kInf)));
  EXPECT_EQ(silu_f32(kInf), kInf);
  EXPECT_TRUE(std::isnan(silu_f32(kNan)));
  EXPECT_EQ(silu_f32(100.0F), 100.0F);
}

TEST(Silu, FollowsDouble) {
  for (float v = -80.0F; v < 80.0F; v += 0.37F) {
    const double want = static_cast<double>(v) / (1.0 + std::exp(-static_cast<double>(v)));
    EXPECT_NEAR(static_cast<double>(silu_f32(v)), want, std::fabs(want) * 3e-7) << v;
  }
}

}  // namespace
}  // namespace moe::ops
