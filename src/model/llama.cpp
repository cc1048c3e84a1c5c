// Llama 2 and 3: the plain dense decoder.
#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {

Result<DecoderConfig> configure_llama(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {}));
  const bool bias = TRY(config.boolean_or("attention_bias", false));
  decoder.attention.qkv_bias = bias;
  decoder.attention.o_bias = bias;
  TRY(refuse_flag(config, "mlp_bias"));
  TRY(configure_dense_width(config, decoder));
  return decoder;
}

}  // namespace moe::model
