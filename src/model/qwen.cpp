// Qwen3, Qwen3-MoE and Qwen2-MoE.
#include <algorithm>

#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {
namespace {

Result<DecoderConfig> configure_qwen3(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {}));
  const bool bias = TRY(config.boolean_or("attention_bias", false));
  decoder.attention.qkv_bias = bias;
  decoder.attention.o_bias = bias;
  decoder.attention.qk_norm = QkNorm::kPerHead;
  return decoder;
}

// Which layers hold experts, and the experts' sizes.
Status configure_sparse_layers(const io::HfConfig& config, DecoderConfig& decoder) {
  MoeConfig& moe = decoder.moe;
  const std::vector<int64_t> dense_layers = TRY(config.integers("mlp_only_layers", 0, kMaxLayers));
  const int64_t sparse_step = TRY(config.integer_or("decoder_sparse_step", 1, 1, kMaxLayers));
  bool any_dense = false;
  for (int64_t layer = 0; layer < decoder.layer_count(); ++layer) {
    const bool listed =
        std::find(dense_layers.begin(), dense_layers.end(), layer) != dense_layers.end();
    const bool sparse = !listed && moe.experts > 0 && (layer + 1) % sparse_step == 0;
    decoder.layers[static_cast<size_t>(layer)].moe = sparse;
    any_dense = any_dense || !sparse;
  }
  if (any_dense) {
    TRY(configure_dense_width(config, decoder));
  } else {
    TRY(config.integer_or("intermediate_size", 0));
  }
  if (moe.experts == 0) return {};
  moe.slots = TRY(config.integer("num_experts_per_tok", 1, moe.experts));
  moe.intermediate = TRY(config.integer("moe_intermediate_size", 1, kMaxWidth));
  moe.renormalize = TRY(config.boolean_or("norm_topk_prob", false));
  return {};
}

}  // namespace

Result<DecoderConfig> configure_qwen3_dense(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_qwen3(config));
  TRY(configure_dense_width(config, decoder));
  return decoder;
}

Result<DecoderConfig> configure_qwen3_moe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_qwen3(config));
  decoder.moe.experts = TRY(config.integer_or("num_experts", 128, 0, kMaxExperts));
  TRY(configure_sparse_layers(config, decoder));
  return decoder;
}

Result<DecoderConfig> configure_qwen2_moe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {}));
  decoder.attention.qkv_bias = TRY(config.boolean_or("qkv_bias", true));
  MoeConfig& moe = decoder.moe;
  moe.experts = TRY(config.integer_or("num_experts", 60, 0, kMaxExperts));
  TRY(configure_sparse_layers(config, decoder));
  if (moe.experts == 0) return decoder;
  moe.shared_intermediate = TRY(config.integer("shared_expert_intermediate_size", 0, kMaxWidth));
  moe.shared_gate = moe.shared_intermediate > 0;
  return decoder;
}

}  // namespace moe::model
