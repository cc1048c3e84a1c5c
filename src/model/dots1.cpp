// dots.llm1: q/k norm per head, DeepSeek's sigmoid router. The scaling factor multiplies the
// routing weights, so that it reaches the chosen experts and not the shared ones.
#include "model/configure.hpp"
#include "model/deepseek_experts.hpp"
#include "model/families.hpp"

namespace moe::model {

Result<DecoderConfig> configure_dots1(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {}));
  TRY(refuse_sliding_window(config));
  const bool bias = TRY(config.boolean_or("attention_bias", false));
  decoder.attention.qkv_bias = bias;
  decoder.attention.o_bias = bias;
  decoder.attention.qk_norm = QkNorm::kPerHead;
  decoder.moe.weight_scale =
      TRY(configure_deepseek_experts(config, /*renormalize=*/false, decoder));
  return decoder;
}

}  // namespace moe::model
