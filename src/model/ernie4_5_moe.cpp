// ERNIE 4.5 MoE: rotation of neighbouring pairs, an FP32 softmax router with a correction bias,
// shared experts, a range of layers with experts.
#include <fmt/format.h>

#include "model/configure.hpp"
#include "model/families.hpp"

namespace moe::model {
namespace {

constexpr double kLargestNormMin = 1e-9;

// Layers from moe_layer_start_index to moe_layer_end_index (-1 = the last), every
// moe_layer_interval-th, have experts.
Status configure_sparse_range(const io::HfConfig& config, DecoderConfig& decoder) {
  const int64_t begin = TRY(config.integer_or("moe_layer_start_index", 1, 0, kMaxLayers));
  const int64_t end = TRY(config.integer_or("moe_layer_end_index", -1, -1, kMaxLayers));
  const int64_t interval = TRY(config.integer_or("moe_layer_interval", 1, 1, kMaxLayers));
  bool any_dense = false;
  for (int64_t layer = 0; layer < decoder.layer_count(); ++layer) {
    const bool inside = layer >= begin && (end == -1 || layer <= end);
    const bool sparse = inside && (layer + 1) % interval == 0;
    decoder.layers[static_cast<size_t>(layer)].moe = sparse;
    any_dense = any_dense || !sparse;
  }
  if (any_dense) return configure_dense_width(config, decoder);
  config.ignore("intermediate_size");
  return {};
}

Status configure_router(const io::HfConfig& config, MoeConfig& moe) {
  const std::string gate = TRY(config.string_or("moe_gate", "topk"));
  if (gate != "topk") return unsupported_field("moe_gate", gate, "topk");
  // The least sum that weights are divided by. A sum of chosen probabilities stays far above it.
  const double floor = TRY(config.number_or("moe_norm_min", 1e-12));
  if (floor > kLargestNormMin) {
    return unsupported_field("moe_norm_min", fmt::format("{}", floor), "at most 1e-9");
  }
  moe.renormalize = true;
  moe.router_f32 = true;
  moe.correction_bias = true;
  moe.names.correction_bias = "moe_statics.e_score_correction_bias";
  return {};
}

}  // namespace

Result<DecoderConfig> configure_ernie4_5_moe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_decoder(
      config, {.norm_epsilon = 1e-5, .rope_theta = 500000, .tied_embeddings = true}));
  decoder.attention.rope_interleaved = true;
  TRY(refuse_flag(config, "use_bias"));
  // How the experts were trained: room of an expert, the balancing that made the bias.
  for (const char* field : {"moe_capacity", "moe_use_aux_free"}) config.ignore(field);
  config.ignore("num_nextn_predict_layers");  // further layers that only draft tokens
  MoeConfig& moe = decoder.moe;
  moe.experts = TRY(config.integer("moe_num_experts", 1, kMaxExperts));
  moe.slots = TRY(config.integer("moe_k", 1, moe.experts));
  moe.intermediate = TRY(config.integer("moe_intermediate_size", 1, kMaxWidth));
  moe.shared_intermediate =
      moe.intermediate * TRY(config.integer_or("moe_num_shared_experts", 0, 0, kMaxExperts));
  moe.names.shared_expert = "shared_experts.";
  TRY(configure_router(config, moe));
  TRY(configure_sparse_range(config, decoder));
  return decoder;
}

}  // namespace moe::model
