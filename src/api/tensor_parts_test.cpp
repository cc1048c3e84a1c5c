#include "api/tensor_parts.hpp"

#include <gtest/gtest.h>

namespace moe::api {
namespace {

TEST(TensorParts, NamesOfPublishedFamiliesFindTheirPart) {
  const std::pair<const char*, TensorPart> cases[] = {
      {"model.embed_tokens.weight", TensorPart::kEmbedding},
      {"lm_head.weight", TensorPart::kHead},
      {"lm_head.bias", TensorPart::kHead},
      {"model.norm.weight", TensorPart::kNorms},
      {"model.embedding_norm.weight", TensorPart::kNorms},
      {"model.layers.1.input_layernorm.weight", TensorPart::kNorms},
      {"model.layers.1.self_attn.q_norm.weight", TensorPart::kNorms},
      {"model.layers.1.self_attn.kv_a_layernorm.weight", TensorPart::kNorms},
      {"model.layers.1.self_attn.q_proj.weight", TensorPart::kAttention},
      {"model.layers.1.self_attn.sinks", TensorPart::kAttention},
      {"model.layers.1.conv.in_proj.weight", TensorPart::kAttention},
      {"model.layers.1.mlp.gate_proj.weight", TensorPart::kDenseMlp},
      {"model.layers.1.feed_forward.w1.weight", TensorPart::kDenseMlp},
      {"model.layers.1.mlp.gate.weight", TensorPart::kRouter},
      {"model.layers.1.mlp.gate.e_score_correction_bias", TensorPart::kRouter},
      {"model.layers.1.mlp.moe_statics.e_score_correction_bias", TensorPart::kRouter},
      {"model.layers.1.mlp.router.bias", TensorPart::kRouter},
      {"model.layers.1.block_sparse_moe.gate.weight", TensorPart::kRouter},
      {"model.layers.1.block_sparse_moe.router.layer.weight", TensorPart::kRouter},
      {"model.layers.1.feed_forward.expert_bias", TensorPart::kRouter},
      {"model.layers.1.mlp.experts.7.gate_proj.weight", TensorPart::kExperts},
      {"model.layers.1.mlp.experts.gate_up_proj", TensorPart::kExperts},
      {"model.layers.1.mlp.experts.down_proj_bias", TensorPart::kExperts},
      {"model.layers.1.block_sparse_moe.experts.7.w1.weight", TensorPart::kExperts},
      {"model.layers.1.block_sparse_moe.input_linear.weight", TensorPart::kExperts},
      {"model.layers.1.mlp.shared_experts.gate_proj.weight", TensorPart::kSharedExperts},
      {"model.layers.1.mlp.shared_expert_gate.weight", TensorPart::kSharedExperts},
      {"model.layers.1.self_attn.rotary_emb.inv_freq", TensorPart::kBuffers},
      {"something.new", TensorPart::kOther},
  };
  for (const auto& [name, part] : cases) {
    EXPECT_EQ(name_of(part_of(name, 2)), name_of(part)) << name;
  }
}

TEST(TensorParts, LayersBeyondTheModelAreExtra) {
  EXPECT_EQ(part_of("model.layers.1.mlp.experts.0.up_proj.weight", 2), TensorPart::kExperts);
  EXPECT_EQ(part_of("model.layers.2.mlp.experts.0.up_proj.weight", 2), TensorPart::kExtraLayers);
  EXPECT_EQ(part_of("model.layers.2.mlp.experts.0.up_proj.weight", std::nullopt),
            TensorPart::kExperts);
}

}  // namespace
}  // namespace moe::api
