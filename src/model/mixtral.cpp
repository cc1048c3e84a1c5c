// Mixtral: experts in every layer, weights always renormalised, w1/w3/w2 as gate/up/down.
#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {

Result<DecoderConfig> configure_mixtral(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(config, {.norm_epsilon = 1e-5, .rope_theta = 1e6}));
  TRY(refuse_sliding_window(config));
  config.ignore("router_jitter_noise");  // noise of the training
  TRY(configure_experts_everywhere(config, "num_local_experts", decoder));
  decoder.moe.renormalize = true;
  decoder.moe.names.block = "block_sparse_moe.";
  decoder.moe.names.experts = io::kMixtralExpertNames;
  return decoder;
}

}  // namespace moe::model
