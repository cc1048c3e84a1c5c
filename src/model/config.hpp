// The decoder configuration that the shared layers understand: what differs between families is
// data here, not code. Made from config.json by a family's file (qwen3_moe.cpp, ...).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/moe.hpp"

namespace moe::model {

struct AttentionConfig {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 0;
  bool qk_norm_per_head = false;  // RMSNorm of each q and k head before RoPE
  double rope_theta = 0;
  int64_t rotary_dim = 0;
  bool rope_interleaved = false;
};

struct MoeConfig {
  int64_t experts = 0;
  int64_t slots = 0;         // experts chosen per token (top-k)
  int64_t intermediate = 0;  // width of one expert
  ops::RouterScoring scoring = ops::RouterScoring::kSoftmax;
  bool renormalize = false;
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
