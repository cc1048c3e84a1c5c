// The decoder configuration that the shared decoder and layers understand: what differs between
// families is data here, not code. Made from config.json by a family's file (qwen.cpp, llama.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/expert_weights.hpp"
#include "io/rope_config.hpp"
#include "ops/moe.hpp"

namespace moe::model {

// RMSNorm of queries and keys between projection and RoPE.
enum class QkNorm : uint8_t {
  kNone,
  kPerHead,          // over each head, one weight of head_dim for all heads
  kWholeProjection,  // over all heads of a token at once
};

struct AttentionConfig {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 0;
  bool qkv_bias = false;
  bool o_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  io::RopeConfig rope;
  int64_t rotary_dim = 0;
  bool rope_interleaved = false;
};

// How a family calls the tensors of an expert block.
struct MoeNames {
  std::string_view block = "mlp.";  // after "model.layers.<i>."; the others come after this
  std::string_view router = "gate.weight";
  std::string_view correction_bias = "gate.e_score_correction_bias";
  io::ExpertNames experts;
  std::string_view shared_expert = "shared_expert.";
  std::string_view shared_gate = "shared_expert_gate.weight";
};

struct MoeConfig {
  int64_t experts = 0;
  int64_t slots = 0;         // experts chosen per token (top-k)
  int64_t intermediate = 0;  // width of one expert
  ops::RouterScoring scoring = ops::RouterScoring::kSoftmax;
  bool renormalize = false;
  // Router logits are the FP32 accumulator, not rounded to BF16; the router may be FP32 on disk.
  bool router_f32 = false;
  bool correction_bias = false;  // a bias on the scores that decides the choice alone
  int64_t groups = 1;            // experts are chosen from the best `kept_groups` of these
  int64_t kept_groups = 1;
  ops::GroupScore group_score = ops::GroupScore::kMax;
  float weight_scale = 1;           // multiplies the routing weights
  float output_scale = 1;           // multiplies the sum over the chosen experts
  int64_t shared_intermediate = 0;  // width of the expert that every token takes; 0 = none
  bool shared_gate = false;         // its output is multiplied by the sigmoid of a learned gate
  MoeNames names;
};

struct LayerConfig {
  bool moe = false;
};

struct DecoderConfig {
  std::string architecture;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t dense_intermediate = 0;
  int64_t max_positions = 0;
  float norm_epsilon = 0;
  bool tied_embeddings = false;
  float embedding_multiplier = 1;  // on the embedding's rows
  float residual_multiplier = 1;   // on what a layer adds to the residual stream
  float logits_multiplier = 1;     // on the head's output
  AttentionConfig attention;
  MoeConfig moe;
  std::vector<LayerConfig> layers;

  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
  // Bytes of keys and values that one token keeps, all layers.
  int64_t kv_bytes_per_token() const {
    return 2 * layer_count() * attention.kv_heads * attention.head_dim * 2;
  }
};

}  // namespace moe::model
