#include "model/configure.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "model/config_fields.hpp"
#include "model/rope_table.hpp"

namespace moe::model {
namespace {

Status refuse_other_variants(const io::HfConfig& config) {
  const std::string activation = TRY(config.string_or("hidden_act", "silu"));
  if (activation != "silu") return unsupported_field("hidden_act", activation, "silu");
  TRY(refuse_flag(config, "use_sliding_window"));
  return require_full_attention(config);
}

Status configure_rope(const io::HfConfig& config, const FamilyTraits& traits,
                      AttentionConfig& attention) {
  attention.rope = TRY(io::rope_config(config, traits.rope_theta));
  TRY(check_rope(attention.rope));
  const double share = attention.rope.partial_rotary_factor;
  if (share != 1 && !traits.partial_rotary) {
    return unsupported_field("partial_rotary_factor", fmt::format("{}", share), "1");
  }
  attention.rotary_dim = static_cast<int64_t>(static_cast<double>(attention.head_dim) * share);
  if (attention.rotary_dim >= 2 && attention.rotary_dim % 2 == 0) return {};
  return corrupt(fmt::format("config.json: partial_rotary_factor {} of head_dim {} rotates {} "
                             "values, wanted an even number of at least 2",
                             share, attention.head_dim, attention.rotary_dim),
                 "restore config.json from its source");
}

Result<AttentionConfig> configure_attention(const io::HfConfig& config, const FamilyTraits& traits,
                                            int64_t hidden) {
  AttentionConfig attention;
  attention.heads = TRY(config.integer("num_attention_heads", 1, kMaxHeads));
  attention.kv_heads = TRY(config.integer_or("num_key_value_heads", attention.heads));
  if (attention.kv_heads < 1 || attention.heads % attention.kv_heads != 0) {
    return corrupt(fmt::format("config.json: num_key_value_heads is {}, wanted a divisor of "
                               "num_attention_heads = {}",
                               attention.kv_heads, attention.heads),
                   "restore config.json from its source");
  }
  attention.head_dim = TRY(config.integer_or("head_dim", hidden / attention.heads));
  if (attention.head_dim < 2 || attention.head_dim > kMaxWidth || attention.head_dim % 2 != 0) {
    return corrupt(fmt::format("config.json: head_dim is {}, wanted an even number from 2 to {}",
                               attention.head_dim, kMaxWidth),
                   "restore config.json from its source");
  }
  attention.scale = 1.0F / std::sqrt(static_cast<float>(attention.head_dim));
  TRY(configure_rope(config, traits, attention));
  return attention;
}

}  // namespace

Error unsupported_field(const std::string& field, const std::string& got,
                        const std::string& wanted) {
  return unsupported(
      fmt::format("config.json: {} is {}, this model family runs with {}", field, got, wanted),
      "use a checkpoint without this setting");
}

Status refuse_flag(const io::HfConfig& config, const char* field) {
  if (!TRY(config.boolean_or(field, false))) return {};
  return unsupported_field(field, "true", "false");
}

Status refuse_sliding_window(const io::HfConfig& config) {
  const auto window = TRY(config.optional_integer("sliding_window"));
  if (!window) return {};
  return unsupported_field("sliding_window", fmt::format("{}", *window), "null");
}

Status configure_dense_width(const io::HfConfig& config, DecoderConfig& decoder) {
  decoder.dense_intermediate = TRY(config.integer("intermediate_size", 1, kMaxWidth));
  return {};
}

Status configure_experts_everywhere(const io::HfConfig& config, const char* experts_field,
                                    DecoderConfig& decoder) {
  MoeConfig& moe = decoder.moe;
  moe.experts = TRY(config.integer(experts_field, 1, kMaxExperts));
  moe.slots = TRY(config.integer("num_experts_per_tok", 1, moe.experts));
  moe.intermediate = TRY(config.integer("intermediate_size", 1, kMaxWidth));
  for (LayerConfig& layer : decoder.layers) layer.moe = true;
  return {};
}

Result<DecoderConfig> configure_decoder(const io::HfConfig& config, const FamilyTraits& traits) {
  ignore_harmless_fields(config);
  TRY(refuse_other_variants(config));
  DecoderConfig decoder;
  decoder.architecture = TRY(config.architecture());
  decoder.vocab_size = TRY(config.integer("vocab_size", 1, kMaxVocab));
  decoder.hidden = TRY(config.integer("hidden_size", 1, kMaxWidth));
  decoder.max_positions = TRY(config.integer("max_position_embeddings", 1, kMaxPositions));
  decoder.norm_epsilon =
      static_cast<float>(TRY(config.number_or("rms_norm_eps", traits.norm_epsilon)));
  decoder.tied_embeddings = TRY(config.boolean_or("tie_word_embeddings", traits.tied_embeddings));
  decoder.attention = TRY(configure_attention(config, traits, decoder.hidden));
  decoder.layers.resize(
      static_cast<size_t>(TRY(config.integer("num_hidden_layers", 1, kMaxLayers))));
  return decoder;
}

}  // namespace moe::model
