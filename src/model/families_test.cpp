// What each family makes of its config.json, and what it refuses by name.
#include "model/families.hpp"

#include "model/test_config.hpp"

namespace moe::model {
namespace {

using Configure = Result<DecoderConfig> (*)(const io::HfConfig&);

Json llama_config() { return test::small_config("LlamaForCausalLM"); }

Json qwen3_moe_config() {
  Json json = test::small_config("Qwen3MoeForCausalLM");
  json["num_experts"] = 8;
  json["num_experts_per_tok"] = 2;
  json["moe_intermediate_size"] = 48;
  json["norm_topk_prob"] = true;
  return json;
}

// The configuration must be accepted as it is and refused with `field` set to `value`.
void expect_refused(Configure configure, Json json, const char* field, const Json& value) {
  ASSERT_TRUE(configure(test::parsed(json)).ok());
  json[field] = value;
  test::expect_error(configure(test::parsed(json)), ErrorCode::kUnsupported, field);
}

TEST(Llama, IsDenseWithoutNormsAndBiases) {
  const DecoderConfig decoder = configure_llama(test::parsed(llama_config())).value();
  EXPECT_EQ(decoder.dense_intermediate, 96);
  EXPECT_EQ(decoder.moe.experts, 0);
  EXPECT_EQ(decoder.attention.qk_norm, QkNorm::kNone);
  EXPECT_FALSE(decoder.attention.qkv_bias || decoder.attention.o_bias);
  for (const LayerConfig& layer : decoder.layers) EXPECT_FALSE(layer.moe);
}

TEST(Llama, AttentionBiasIsForAllFourProjections) {
  Json json = llama_config();
  json["attention_bias"] = true;
  const DecoderConfig decoder = configure_llama(test::parsed(json)).value();
  EXPECT_TRUE(decoder.attention.qkv_bias && decoder.attention.o_bias);
  expect_refused(&configure_llama, llama_config(), "mlp_bias", true);
}

TEST(Llama, RopeScalingOfLlama3IsTakenOver) {
  Json json = llama_config();
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 8.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 64}};
  const DecoderConfig decoder = configure_llama(test::parsed(json)).value();
  EXPECT_EQ(decoder.attention.rope.type, io::RopeType::kLlama3);
  EXPECT_EQ(decoder.attention.rope.factor, 8.0);
  json["rope_scaling"]["low_freq_factor"] = 5.0;
  test::expect_error(configure_llama(test::parsed(json)), ErrorCode::kCorrupt, "low_freq_factor 5");
}

TEST(Qwen3Moe, SparseLayersFollowStepAndList) {
  Json json = qwen3_moe_config();
  json["num_hidden_layers"] = 6;
  json["decoder_sparse_step"] = 2;
  json["mlp_only_layers"] = Json::array({3});
  const DecoderConfig decoder = configure_qwen3_moe(test::parsed(json)).value();
  std::vector<bool> sparse;
  for (const LayerConfig& layer : decoder.layers) sparse.push_back(layer.moe);
  EXPECT_EQ(sparse, (std::vector<bool>{false, true, false, false, false, true}));
  EXPECT_EQ(decoder.dense_intermediate, 96);
  EXPECT_TRUE(decoder.moe.renormalize);
  EXPECT_EQ(decoder.attention.qk_norm, QkNorm::kPerHead);
}

TEST(Qwen3Moe, MoreSlotsThanExpertsAreCorrupt) {
  Json json = qwen3_moe_config();
  json["num_experts_per_tok"] = 8;
  EXPECT_TRUE(configure_qwen3_moe(test::parsed(json)).ok());
  json["num_experts_per_tok"] = 9;
  test::expect_error(configure_qwen3_moe(test::parsed(json)), ErrorCode::kCorrupt,
                     "num_experts_per_tok");
}

Json mixtral_config() {
  Json json = test::small_config("MixtralForCausalLM");
  json["num_local_experts"] = 8;
  json["num_experts_per_tok"] = 2;
  return json;
}

TEST(Mixtral, EveryLayerHasExpertsUnderItsOwnNames) {
  const DecoderConfig decoder = configure_mixtral(test::parsed(mixtral_config())).value();
  for (const LayerConfig& layer : decoder.layers) EXPECT_TRUE(layer.moe);
  EXPECT_EQ(decoder.moe.experts, 8);
  EXPECT_EQ(decoder.moe.slots, 2);
  EXPECT_EQ(decoder.moe.intermediate, 96);
  EXPECT_TRUE(decoder.moe.renormalize);
  EXPECT_EQ(decoder.moe.names.block, "block_sparse_moe.");
  EXPECT_EQ(decoder.moe.names.experts.gate, "w1");
  EXPECT_EQ(decoder.attention.rope.theta, 1e6);
}

TEST(Mixtral, SlidingWindowIsRefusedAndExpertCountsAreBounded) {
  Json json = mixtral_config();
  json["sliding_window"] = nullptr;
  expect_refused(&configure_mixtral, json, "sliding_window", 4096);
  for (const auto& [experts, good] :
       {std::pair{0, false}, {2, true}, {4096, true}, {4097, false}}) {
    json["num_local_experts"] = experts;
    EXPECT_EQ(configure_mixtral(test::parsed(json)).ok(), good) << experts;
  }
  json = mixtral_config();
  json["num_experts_per_tok"] = 9;
  test::expect_error(configure_mixtral(test::parsed(json)), ErrorCode::kCorrupt,
                     "num_experts_per_tok");
}

TEST(Olmoe, NormalisesTheWholeProjectionAndNotTheWeights) {
  Json json = test::small_config("OlmoeForCausalLM");
  json["num_experts"] = 16;
  json["num_experts_per_tok"] = 4;
  json["clip_qkv"] = nullptr;
  const DecoderConfig decoder = configure_olmoe(test::parsed(json)).value();
  EXPECT_EQ(decoder.attention.qk_norm, QkNorm::kWholeProjection);
  EXPECT_FALSE(decoder.moe.renormalize);
  EXPECT_EQ(decoder.moe.scoring, ops::RouterScoring::kSoftmax);
  EXPECT_EQ(decoder.moe.experts, 16);
  EXPECT_EQ(decoder.moe.intermediate, 96);
  expect_refused(&configure_olmoe, json, "clip_qkv", 8.0);
  json["norm_topk_prob"] = true;
  EXPECT_TRUE(configure_olmoe(test::parsed(json)).value().moe.renormalize);
}

TEST(Qwen2Moe, HasBiasesAndASharedExpertBehindAGate) {
  Json json = qwen3_moe_config();
  json.erase("norm_topk_prob");
  json["shared_expert_intermediate_size"] = 112;
  const DecoderConfig decoder = configure_qwen2_moe(test::parsed(json)).value();
  EXPECT_TRUE(decoder.attention.qkv_bias);
  EXPECT_FALSE(decoder.attention.o_bias);
  EXPECT_EQ(decoder.attention.qk_norm, QkNorm::kNone);
  EXPECT_FALSE(decoder.moe.renormalize);
  EXPECT_EQ(decoder.moe.shared_intermediate, 112);
  EXPECT_TRUE(decoder.moe.shared_gate);
  expect_refused(&configure_qwen2_moe, json, "use_sliding_window", true);
  json.erase("shared_expert_intermediate_size");
  test::expect_error(configure_qwen2_moe(test::parsed(json)), ErrorCode::kCorrupt,
                     "shared_expert_intermediate_size");
}

TEST(Qwen2Moe, SharedWidthHoldsAtTheLimitAndFailsPastIt) {
  Json json = qwen3_moe_config();
  for (const auto& [width, good] : {std::pair{-1, false}, {0, true}, {1 << 20, true}}) {
    json["shared_expert_intermediate_size"] = width;
    EXPECT_EQ(configure_qwen2_moe(test::parsed(json)).ok(), good) << width;
  }
  json["shared_expert_intermediate_size"] = (1 << 20) + 1;
  EXPECT_FALSE(configure_qwen2_moe(test::parsed(json)).ok());
}

TEST(GraniteMoe, MultipliersAreTakenOver) {
  Json json = test::small_config("GraniteMoeForCausalLM");
  json["num_local_experts"] = 8;
  json["num_experts_per_tok"] = 3;
  DecoderConfig decoder = configure_granite_moe(test::parsed(json)).value();
  EXPECT_EQ(decoder.attention.scale, 1);
  EXPECT_EQ(decoder.embedding_multiplier, 1);
  json["attention_multiplier"] = 0.0625;
  json["embedding_multiplier"] = 12.0;
  json["residual_multiplier"] = 0.22;
  json["logits_scaling"] = 6.0;
  decoder = configure_granite_moe(test::parsed(json)).value();
  EXPECT_EQ(decoder.attention.scale, 0.0625F);
  EXPECT_EQ(decoder.embedding_multiplier, 12);
  EXPECT_EQ(decoder.residual_multiplier, 0.22F);
  EXPECT_EQ(decoder.logits_multiplier, static_cast<float>(1 / 6.0));
  EXPECT_EQ(decoder.moe.scoring, ops::RouterScoring::kSoftmaxAfterTopK);
  EXPECT_EQ(decoder.moe.names.router, "router.layer.weight");
}

TEST(GraniteMoe, MultipliersHoldAtTheirLimitsAndFailPastThem) {
  for (const char* field :
       {"attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"}) {
    Json json = test::small_config("GraniteMoeForCausalLM");
    json["num_local_experts"] = 8;
    json["num_experts_per_tok"] = 3;
    for (const double good : {1e-6, 1e6}) {
      json[field] = good;
      EXPECT_TRUE(configure_granite_moe(test::parsed(json)).ok()) << field << good;
    }
    for (const double bad : {0.0, 9e-7, 1.1e6, -1.0}) {
      json[field] = bad;
      test::expect_error(configure_granite_moe(test::parsed(json)), ErrorCode::kCorrupt, field);
    }
  }
}

Json dots1_config() {
  Json json = test::small_config("Dots1ForCausalLM");
  json["n_routed_experts"] = 12;
  json["num_experts_per_tok"] = 3;
  json["n_shared_experts"] = 2;
  json["moe_intermediate_size"] = 56;
  json["first_k_dense_replace"] = 1;
  json["norm_topk_prob"] = true;
  json["routed_scaling_factor"] = 2.5;
  json["scoring_func"] = "sigmoid";
  json["topk_method"] = "noaux_tc";
  return json;
}

TEST(Dots1, RouterScoresWithASigmoidInFp32AndScalesTheWeights) {
  const DecoderConfig decoder = configure_dots1(test::parsed(dots1_config())).value();
  const MoeConfig& moe = decoder.moe;
  EXPECT_EQ(moe.scoring, ops::RouterScoring::kSigmoid);
  EXPECT_TRUE(moe.router_f32 && moe.correction_bias && moe.renormalize);
  EXPECT_EQ(moe.weight_scale, 2.5F);
  EXPECT_EQ(moe.output_scale, 1);
  EXPECT_EQ(moe.shared_intermediate, 112);
  EXPECT_FALSE(moe.shared_gate);
  EXPECT_FALSE(decoder.layers[0].moe);
  EXPECT_TRUE(decoder.layers[1].moe);
  EXPECT_EQ(decoder.dense_intermediate, 96);
}

TEST(Dots1, OtherRoutersAreRefusedByName) {
  expect_refused(&configure_dots1, dots1_config(), "scoring_func", "softmax");
  expect_refused(&configure_dots1, dots1_config(), "topk_method", "greedy");
  expect_refused(&configure_dots1, dots1_config(), "moe_layer_freq", 2);
  expect_refused(&configure_dots1, dots1_config(), "sliding_window", 128);
}

TEST(Dots1, GroupsMustDivideTheExpertsAndLeaveEnough) {
  Json json = dots1_config();
  json["n_group"] = 4;
  json["topk_group"] = 1;
  EXPECT_TRUE(configure_dots1(test::parsed(json)).ok());  // three candidates for three slots
  json["num_experts_per_tok"] = 4;
  test::expect_error(configure_dots1(test::parsed(json)), ErrorCode::kCorrupt, "topk_group = 1");
  json = dots1_config();
  json["n_group"] = 5;
  test::expect_error(configure_dots1(test::parsed(json)), ErrorCode::kCorrupt, "n_group is 5");
  json["n_group"] = 4;
  json["topk_group"] = 5;
  test::expect_error(configure_dots1(test::parsed(json)), ErrorCode::kCorrupt, "topk_group");
}

TEST(Glm4Moe, RotatesPartOfAHeadAndScalesTheOutput) {
  Json json = dots1_config();
  json["attention_bias"] = true;
  json["use_qk_norm"] = true;
  json["partial_rotary_factor"] = 0.5;
  json.erase("norm_topk_prob");
  const DecoderConfig decoder = configure_glm4_moe(test::parsed(json)).value();
  EXPECT_EQ(decoder.attention.rotary_dim, 16);
  EXPECT_TRUE(decoder.attention.qkv_bias);
  EXPECT_FALSE(decoder.attention.o_bias);
  EXPECT_EQ(decoder.attention.qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(decoder.moe.renormalize);
  EXPECT_EQ(decoder.moe.weight_scale, 1);
  EXPECT_EQ(decoder.moe.output_scale, 2.5F);
  json["use_qk_norm"] = false;
  EXPECT_EQ(configure_glm4_moe(test::parsed(json)).value().attention.qk_norm, QkNorm::kNone);
  json.erase("partial_rotary_factor");
  test::expect_error(configure_glm4_moe(test::parsed(json)), ErrorCode::kCorrupt,
                     "partial_rotary_factor");
}

Json ernie_config() {
  Json json = test::small_config("Ernie4_5_MoeForCausalLM");
  json["moe_num_experts"] = 12;
  json["moe_k"] = 3;
  json["moe_intermediate_size"] = 56;
  json["moe_num_shared_experts"] = 2;
  return json;
}

TEST(Ernie45Moe, RouterIsASoftmaxInFp32WithABias) {
  const DecoderConfig decoder = configure_ernie4_5_moe(test::parsed(ernie_config())).value();
  EXPECT_EQ(decoder.moe.scoring, ops::RouterScoring::kSoftmax);
  EXPECT_TRUE(decoder.moe.router_f32 && decoder.moe.correction_bias && decoder.moe.renormalize);
  EXPECT_EQ(decoder.moe.shared_intermediate, 112);
  EXPECT_TRUE(decoder.attention.rope_interleaved);
  EXPECT_TRUE(decoder.tied_embeddings);
  EXPECT_EQ(decoder.attention.rope.theta, 500000);
  expect_refused(&configure_ernie4_5_moe, ernie_config(), "use_bias", true);
  expect_refused(&configure_ernie4_5_moe, ernie_config(), "moe_gate", "hash");
  expect_refused(&configure_ernie4_5_moe, ernie_config(), "moe_norm_min", 1.0);
}

TEST(Ernie45Moe, SparseLayersFollowTheRange) {
  Json json = ernie_config();
  json["num_hidden_layers"] = 6;
  const auto sparse = [&] {
    std::vector<bool> layers;
    const DecoderConfig decoder = configure_ernie4_5_moe(test::parsed(json)).value();
    for (const LayerConfig& layer : decoder.layers) layers.push_back(layer.moe);
    return layers;
  };
  EXPECT_EQ(sparse(), (std::vector<bool>{false, true, true, true, true, true}));
  json["moe_layer_end_index"] = 4;
  json["moe_layer_interval"] = 2;
  EXPECT_EQ(sparse(), (std::vector<bool>{false, true, false, true, false, false}));
  json["moe_layer_interval"] = 0;
  test::expect_error(configure_ernie4_5_moe(test::parsed(json)), ErrorCode::kCorrupt,
                     "moe_layer_interval");
}

}  // namespace
}  // namespace moe::model
