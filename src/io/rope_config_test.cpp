#include "io/rope_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/test_files.hpp"

namespace moe::io {
namespace {

Result<RopeConfig> rope_of(std::string_view text, double default_theta = 10000.0) {
  return rope_config(ConfigObject::parse(text, "config.json").value(), default_theta);
}

TEST(RopeConfig, AbsentSettingsGiveTheDefaults) {
  const auto rope = rope_of(R"({"rope_scaling":null})", 500.0).value();
  EXPECT_EQ(rope.type, RopeType::kDefault);
  EXPECT_EQ(rope.theta, 500.0);
  EXPECT_EQ(rope.partial_rotary_factor, 1.0);
  EXPECT_FALSE(rope.factor.has_value());
}

TEST(RopeConfig, BothFormsGiveTheSame) {
  for (const char* text :
       {R"({"rope_theta":1e6,"partial_rotary_factor":0.5,
            "rope_scaling":{"type":"yarn","factor":4,"original_max_position_embeddings":32,
                            "beta_fast":32,"beta_slow":1,"mscale":0.7,"mscale_all_dim":0.8}})",
        R"({"rope_parameters":{"rope_theta":1e6,"partial_rotary_factor":0.5,"rope_type":"yarn",
                               "factor":4.0,"original_max_position_embeddings":32,"beta_fast":32,
                               "beta_slow":1,"mscale":0.7,"mscale_all_dim":0.8}})"}) {
    const auto rope = rope_of(text).value();
    EXPECT_EQ(rope.type, RopeType::kYarn);
    EXPECT_EQ(rope.theta, 1e6);
    EXPECT_EQ(rope.partial_rotary_factor, 0.5);
    EXPECT_EQ(rope.factor, 4.0);
    EXPECT_EQ(rope.original_max_position_embeddings, 32);
    EXPECT_EQ(rope.beta_fast, 32.0);
    EXPECT_EQ(rope.beta_slow, 1.0);
    EXPECT_EQ(rope.mscale, 0.7);
    EXPECT_EQ(rope.mscale_all_dim, 0.8);
  }
}

TEST(RopeConfig, EveryTypeIsRead) {
  const auto type_of = [](std::string_view text) { return rope_of(text).value().type; };
  EXPECT_EQ(type_of(R"({"rope_scaling":{"rope_type":"default"}})"), RopeType::kDefault);
  EXPECT_EQ(type_of(R"({"rope_scaling":{"type":"linear","factor":2}})"), RopeType::kLinear);
  EXPECT_EQ(type_of(R"({"rope_scaling":{"type":"dynamic","factor":2}})"), RopeType::kDynamic);
  EXPECT_EQ(type_of(R"({"rope_scaling":{"type":"su","short_factor":[1],"long_factor":[2]}})"),
            RopeType::kLongRope);
  const auto llama = rope_of(R"({"rope_scaling":{"rope_type":"llama3","factor":8,
      "low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64}})");
  ASSERT_TRUE(llama.ok()) << llama.error().message;
  EXPECT_EQ(llama->type, RopeType::kLlama3);
  EXPECT_EQ(llama->high_freq_factor, 4.0);
}

TEST(RopeConfig, OriginalLengthMayStandAtTheTop) {
  const auto rope = rope_of(R"({"original_max_position_embeddings":9,
      "rope_scaling":{"type":"longrope","short_factor":[1,2],"long_factor":[3,4]}})");
  EXPECT_EQ(rope.value().original_max_position_embeddings, 9);
  EXPECT_THAT(rope.value().long_factor, testing::ElementsAre(3.0, 4.0));
}

TEST(RopeConfig, UnknownTypeOrFieldIsUnsupportedByName) {
  expect_error(rope_of(R"({"rope_scaling":{"type":"mrope"}})"), ErrorCode::kUnsupported,
               "config.json: rope_scaling.type is \"mrope\", wanted default, linear");
  expect_error(rope_of(R"({"rope_parameters":{"rope_type":"default","zeta":3}})"),
               ErrorCode::kUnsupported, "unknown settings \"rope_parameters.zeta\"");
  expect_error(rope_of(R"({"rope_parameters":{"full_attention":{"rope_type":"default"}}})"),
               ErrorCode::kUnsupported, "settings per layer type (\"full_attention\")");
}

TEST(RopeConfig, ContradictionsAreCorrupt) {
  expect_error(rope_of(R"({"rope_scaling":{"type":"yarn","rope_type":"linear","factor":2}})"),
               ErrorCode::kCorrupt, "type is \"yarn\", but rope_type is \"linear\"");
  expect_error(rope_of(R"({"rope_parameters":{"rope_type":"default"},
                           "rope_scaling":{"rope_type":"linear","factor":2}})"),
               ErrorCode::kCorrupt, "rope_parameters and rope_scaling are both given and differ");
  EXPECT_TRUE(rope_of(R"({"rope_parameters":{"rope_type":"linear","factor":2,"rope_theta":5},
                          "rope_scaling":{"rope_type":"linear","factor":2}})")
                  .ok());
}

TEST(RopeConfig, MissingOrWrongNumbersAreCorrupt) {
  const auto code = ErrorCode::kCorrupt;
  expect_error(rope_of(R"({"rope_theta":0})"), code, "rope_theta is 0, wanted a number in");
  expect_error(rope_of(R"({"rope_theta":"x"})"), code, "rope_theta is \"x\", wanted a number");
  expect_error(rope_of(R"({"partial_rotary_factor":1.5})"), code, "partial_rotary_factor is 1.5");
  expect_error(rope_of(R"({"rope_scaling":"yarn"})"), code, "rope_scaling is \"yarn\"");
  expect_error(rope_of(R"({"rope_scaling":{"type":"yarn"}})"), code,
               "rope_scaling.factor is missing");
  expect_error(rope_of(R"({"rope_scaling":{"type":"linear","factor":-2}})"), code, "factor is -2");
  expect_error(rope_of(R"({"rope_scaling":{"type":"llama3","factor":2,"low_freq_factor":1,
                           "high_freq_factor":4}})"),
               code, "rope_scaling.original_max_position_embeddings is missing");
  const auto longrope = [](std::string_view low, std::string_view high) {
    return rope_of(fmt::format(
        R"({{"rope_scaling":{{"type":"longrope","short_factor":{},"long_factor":{}}}}})", low,
        high));
  };
  expect_error(longrope("[]", "[]"), code, "short_factor and long_factor of one length");
  expect_error(longrope("[1]", "[1,2]"), code, "got 1 and 2");
  expect_error(longrope("[1,0]", "[1,2]"), code, "wanted positive factors");
  const auto ones = [](size_t n) {
    return fmt::format("[{}]", fmt::join(std::vector<int>(n, 1), ","));
  };
  EXPECT_TRUE(longrope(ones(kMaxRopeFactors), ones(kMaxRopeFactors)).ok());
  expect_error(longrope(ones(kMaxRopeFactors + 1), ones(kMaxRopeFactors + 1)), code, "got 4097");
}

}  // namespace
}  // namespace moe::io
