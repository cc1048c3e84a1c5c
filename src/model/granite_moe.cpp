// Granite-MoE: multipliers on the embedding, the residual stream, the attention scores and the
// logits; a softmax over the chosen logits; experts in stacks.
#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {
namespace {

constexpr double kSmallestMultiplier = 1e-6;
constexpr double kLargestMultiplier = 1e6;

// A multiplier of 1 where the file gives none.
Result<double> multiplier(const io::HfConfig& config, const char* field) {
  return config.number_or(field, 1.0, kSmallestMultiplier, kLargestMultiplier);
}

}  // namespace

Result<DecoderConfig> configure_granite_moe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {}));
  const bool bias = TRY(config.boolean_or("attention_bias", false));
  decoder.attention.qkv_bias = bias;
  decoder.attention.o_bias = bias;
  decoder.attention.scale = static_cast<float>(TRY(multiplier(config, "attention_multiplier")));
  decoder.embedding_multiplier =
      static_cast<float>(TRY(multiplier(config, "embedding_multiplier")));
  decoder.residual_multiplier = static_cast<float>(TRY(multiplier(config, "residual_multiplier")));
  decoder.logits_multiplier = static_cast<float>(1.0 / TRY(multiplier(config, "logits_scaling")));
  TRY(configure_experts_everywhere(config, "num_local_experts", decoder));
  decoder.moe.scoring = ops::RouterScoring::kSoftmaxAfterTopK;
  decoder.moe.names.block = "block_sparse_moe.";
  decoder.moe.names.router = "router.layer.weight";
  return decoder;
}

}  // namespace moe::model
