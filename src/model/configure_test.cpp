#include "model/configure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/test_config.hpp"

namespace moe::model {
namespace {

using ::testing::HasSubstr;

Result<DecoderConfig> configure(const Json& json, const FamilyTraits& traits = {}) {
  return configure_decoder(test::parsed(json), traits);
}

TEST(ConfigureDecoder, SizesAreReadAndHeadDimFollowsFromThem) {
  const DecoderConfig decoder = configure(test::small_config("AnyForCausalLM")).value();
  EXPECT_EQ(decoder.architecture, "AnyForCausalLM");
  EXPECT_EQ(decoder.hidden, 128);
  EXPECT_EQ(decoder.layer_count(), 2);
  EXPECT_EQ(decoder.attention.heads, 4);
  EXPECT_EQ(decoder.attention.kv_heads, 2);
  EXPECT_EQ(decoder.attention.head_dim, 32);
  EXPECT_EQ(decoder.attention.rotary_dim, 32);
  EXPECT_FLOAT_EQ(decoder.attention.scale, 1 / std::sqrt(32.0F));
  EXPECT_EQ(decoder.attention.rope.theta, 10000);
  EXPECT_EQ(decoder.kv_bytes_per_token(), 2 * 2 * 2 * 32 * 2);
}

TEST(ConfigureDecoder, AbsentFieldsTakeTheFamilysDefaults) {
  Json json = test::small_config("AnyForCausalLM");
  json.erase("rms_norm_eps");
  json.erase("num_key_value_heads");
  const DecoderConfig decoder = configure(json, {.norm_epsilon = 1e-5, .rope_theta = 7}).value();
  EXPECT_EQ(decoder.norm_epsilon, 1e-5F);
  EXPECT_EQ(decoder.attention.rope.theta, 7);
  EXPECT_EQ(decoder.attention.kv_heads, 4);
}

TEST(ConfigureDecoder, EveryLimitHoldsAtAndFailsPastIt) {
  const std::pair<const char*, int64_t> limits[] = {{"vocab_size", kMaxVocab},
                                                    {"hidden_size", kMaxWidth},
                                                    {"max_position_embeddings", kMaxPositions},
                                                    {"num_hidden_layers", kMaxLayers},
                                                    {"head_dim", kMaxWidth}};
  for (const auto& [field, limit] : limits) {
    Json json = test::small_config("AnyForCausalLM");
    for (const int64_t good : {int64_t{2}, limit}) {
      json[field] = good;
      if (std::string(field) == "hidden_size") json["head_dim"] = 32;
      EXPECT_TRUE(configure(json).ok()) << field << ' ' << good;
    }
    for (const int64_t bad : {int64_t{0}, limit + 2}) {
      json[field] = bad;
      test::expect_error(configure(json), ErrorCode::kCorrupt, field);
    }
  }
  Json json = test::small_config("AnyForCausalLM");
  json["num_attention_heads"] = kMaxHeads;
  json["head_dim"] = 32;
  EXPECT_TRUE(configure(json).ok());
  json["num_attention_heads"] = kMaxHeads + 2;
  test::expect_error(configure(json), ErrorCode::kCorrupt, "num_attention_heads");
}

TEST(ConfigureDecoder, ContradictingHeadsAreCorrupt) {
  Json json = test::small_config("AnyForCausalLM");
  json["num_key_value_heads"] = 3;
  test::expect_error(configure(json), ErrorCode::kCorrupt, "num_key_value_heads is 3");
  json = test::small_config("AnyForCausalLM");
  json["head_dim"] = 33;
  test::expect_error(configure(json), ErrorCode::kCorrupt, "head_dim is 33");
}

TEST(ConfigureDecoder, SettingsThatChangeTheResultAreRefusedByName) {
  const std::pair<const char*, Json> settings[] = {
      {"hidden_act", "gelu"},
      {"use_sliding_window", true},
      {"layer_types", Json::array({"full_attention", "sliding_attention"})},
      {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
      {"partial_rotary_factor", 0.5},
  };
  for (const auto& [field, value] : settings) {
    Json json = test::small_config("AnyForCausalLM");
    json[field] = value;
    const char* named = std::string(field) == "rope_scaling" ? "linear" : field;
    test::expect_error(configure(json), ErrorCode::kUnsupported, named);
  }
}

TEST(ConfigureDecoder, PartialRotaryIsForFamiliesThatReadIt) {
  Json json = test::small_config("AnyForCausalLM");
  json["partial_rotary_factor"] = 0.5;
  EXPECT_EQ(configure(json, {.partial_rotary = true}).value().attention.rotary_dim, 16);
  json["partial_rotary_factor"] = 0.1;  // 3 of 32
  test::expect_error(configure(json, {.partial_rotary = true}), ErrorCode::kCorrupt,
                     "partial_rotary_factor");
}

TEST(ConfigureDecoder, FieldsThatNobodyKnowsStayUnread) {
  Json json = test::small_config("AnyForCausalLM");
  json["attention_dropout"] = 0.0;
  json["new_magic"] = 3;
  const io::HfConfig config = test::parsed(json);
  ASSERT_TRUE(configure_decoder(config, {}).ok());
  EXPECT_THAT(config.unread_keys(), ::testing::Contains("new_magic"));
  EXPECT_THAT(config.unread_keys(), ::testing::Not(::testing::Contains("attention_dropout")));
}

}  // namespace
}  // namespace moe::model
