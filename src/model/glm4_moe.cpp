// GLM-4-MoE: part of each head rotated, biases on q, k and v, q/k norm per head by choice,
// DeepSeek's sigmoid router. The scaling factor multiplies the sum over the chosen experts.
#include "base/errors.hpp"
#include "model/configure.hpp"
#include "model/deepseek_experts.hpp"
#include "model/families.hpp"

namespace moe::model {
namespace {

// The share of the head that is rotated has no default that all versions of the family agree on.
Status require_partial_rotary(const io::HfConfig& config) {
  if (config.has("partial_rotary_factor")) return {};
  const auto rope = TRY(config.optional_object("rope_parameters"));
  if (rope && rope->has("partial_rotary_factor")) return {};
  return corrupt("config.json: partial_rotary_factor is missing",
                 "restore config.json from its source");
}

}  // namespace

Result<DecoderConfig> configure_glm4_moe(const io::HfConfig& config) {
  TRY(require_partial_rotary(config));
  DecoderConfig decoder =
      TRY(configure_decoder(config, {.norm_epsilon = 1e-5, .partial_rotary = true}));
  decoder.attention.qkv_bias = TRY(config.boolean_or("attention_bias", false));
  if (TRY(config.boolean_or("use_qk_norm", false))) decoder.attention.qk_norm = QkNorm::kPerHead;
  config.ignore("num_nextn_predict_layers");  // further layers that only draft tokens
  decoder.moe.output_scale = TRY(configure_deepseek_experts(config, /*renormalize=*/true, decoder));
  return decoder;
}

}  // namespace moe::model
