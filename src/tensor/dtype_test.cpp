#include "tensor/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace moe {
namespace {

TEST(Bf16, RoundsToNearestWithTiesToEven) {
  EXPECT_EQ(to_bf16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808000U)).bits, 0x3f80);  // tie, even below
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f818000U)).bits, 0x3f82);  // tie, even above
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808001U)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f807fffU)).bits, 0x3f80);
  EXPECT_EQ(to_bf16(-0.0F).bits, 0x8000);
}

TEST(Bf16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Bf16 value{static_cast<uint16_t>(bits)};
    const float wide = to_f32(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_f32(to_bf16(wide))));
    } else {
      EXPECT_EQ(to_bf16(wide), value) << bits;
    }
  }
}

TEST(Bf16, OverflowIsInfinityAndNanStaysNan) {
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  EXPECT_TRUE(std::isnan(to_f32(to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

}  // namespace
}  // namespace moe
