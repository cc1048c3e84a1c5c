#include "model/rope_table.hpp"

#include <cmath>
#include <numbers>

#include "model/test_config.hpp"

namespace moe::model {
namespace {

io::RopeConfig llama3(double low, double high) {
  io::RopeConfig rope;
  rope.type = io::RopeType::kLlama3;
  rope.theta = 500000;
  rope.factor = 8;
  rope.low_freq_factor = low;
  rope.high_freq_factor = high;
  rope.original_max_position_embeddings = 64;
  return rope;
}

TEST(RopeTable, DefaultFrequenciesFallGeometrically) {
  io::RopeConfig rope;
  rope.theta = 10000;
  const std::vector<float> frequencies = rope_frequencies(rope, 64);
  ASSERT_EQ(frequencies.size(), 32u);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double want = std::pow(10000.0, -static_cast<double>(i) / 32);
    EXPECT_NEAR(frequencies[i] / want, 1, 1e-6) << i;
  }
}

// The same rule in double, cut into its three ranges of wave lengths.
TEST(RopeTable, Llama3KeepsShortWavesStretchesLongOnesAndBlendsBetween) {
  const io::RopeConfig rope = llama3(1, 4);
  io::RopeConfig plain = rope;
  plain.type = io::RopeType::kDefault;
  const std::vector<float> scaled = rope_frequencies(rope, 32);
  const std::vector<float> unscaled = rope_frequencies(plain, 32);
  int kept = 0;
  int stretched = 0;
  int blended = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double waves = 64.0 / (2 * std::numbers::pi / unscaled[i]);  // in the original context
    double share = 0;                                                  // of the unscaled frequency
    if (waves > 4) {
      share = 1;
      ++kept;
    } else if (waves < 1) {
      ++stretched;
    } else {
      share = (waves - 1) / 3;
      ++blended;
    }
    const double want = unscaled[i] * (share + (1 - share) / 8);
    EXPECT_NEAR(scaled[i] / want, 1, 1e-5) << i;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
  EXPECT_GT(blended, 0);
}

TEST(RopeTable, Llama3WithEqualFactorsHasNoBlend) {
  const std::vector<float> frequencies = rope_frequencies(llama3(2, 2), 32);
  for (float frequency : frequencies) EXPECT_TRUE(std::isfinite(frequency));
}

TEST(RopeTable, RowsHoldCosinesThenSines) {
  io::RopeConfig rope;
  const std::vector<Bf16> table = rope_table(rope, 4, 3);
  ASSERT_EQ(table.size(), 12u);
  EXPECT_EQ(to_f32(table[0]), 1);
  EXPECT_EQ(to_f32(table[2]), 0);
  EXPECT_EQ(to_f32(table[8]), round_bf16(std::cos(2.0F)));
  EXPECT_EQ(to_f32(table[10]), round_bf16(std::sin(2.0F)));
}

TEST(RopeTable, OtherTypesAreRefusedByName) {
  const std::pair<io::RopeType, const char*> types[] = {{io::RopeType::kLinear, "linear"},
                                                        {io::RopeType::kDynamic, "dynamic"},
                                                        {io::RopeType::kYarn, "yarn"},
                                                        {io::RopeType::kLongRope, "longrope"}};
  for (const auto& [type, name] : types) {
    io::RopeConfig rope;
    rope.type = type;
    test::expect_error(check_rope(rope), ErrorCode::kUnsupported, name);
  }
  EXPECT_TRUE(check_rope(llama3(1, 1)).ok());
  test::expect_error(check_rope(llama3(4, 1)), ErrorCode::kCorrupt, "low_freq_factor 4");
}

}  // namespace
}  // namespace moe::model
