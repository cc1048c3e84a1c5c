// OLMoE: experts in every layer, q and k normalised over the whole projection before it is split
// into heads.
#include <fmt/format.h>

#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {

Result<DecoderConfig> configure_olmoe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {.norm_epsilon = 1e-5}));
  const auto clip = TRY(config.optional_number("clip_qkv"));
  if (clip) return unsupported_field("clip_qkv", fmt::format("{}", *clip), "null");
  const bool bias = TRY(config.boolean_or("attention_bias", false));
  decoder.attention.qkv_bias = bias;
  decoder.attention.o_bias = bias;
  decoder.attention.qk_norm = QkNorm::kWholeProjection;
  TRY(configure_experts_everywhere(config, "num_experts", decoder));
  decoder.moe.renormalize = TRY(config.boolean_or("norm_topk_prob", false));
  return decoder;
}

}  // namespace moe::model
