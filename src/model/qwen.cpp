#include "model/qwen3.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "io/rope_config.hpp"
#include "model/config_fields.hpp"
#include "model/layers/attention.hpp"
#include "model/layers/dense_mlp.hpp"
#include "model/layers/moe_block.hpp"

namespace moe::model {
namespace {

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxVocab = 1 << 22;
constexpr int64_t kMaxPositions = 1 << 24;

Error unsupported_field(const std::string& field, const std::string& got,
                        const std::string& wanted) {
  return unsupported(
      fmt::format("config.json: {} is {}, this model family runs with {}", field, got, wanted),
      "use a checkpoint without this setting");
}

Status refuse_other_variants(const io::HfConfig& config) {
  const std::string activation = TRY(config.string_or("hidden_act", "silu"));
  if (activation != "silu") return unsupported_field("hidden_act", activation, "silu");
  if (TRY(config.boolean_or("use_sliding_window", false))) {
    return unsupported_field("use_sliding_window", "true", "false");
  }
  return require_full_attention(config);
}

Result<AttentionConfig> configure_attention(const io::HfConfig& config, int64_t hidden) {
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
  attention.qk_norm_per_head = true;
  attention.rotary_dim = attention.head_dim;
  const io::RopeConfig rope = TRY(io::rope_config(config));
  if (rope.type != io::RopeType::kDefault || rope.partial_rotary_factor != 1) {
    return unsupported("config.json: rope_scaling asks for a scaled or partial rotary embedding, this "
                       "family runs with the default one",
                       "use a checkpoint without rope_scaling");
  }
  attention.rope_theta = rope.theta;
  return attention;
}

Result<DecoderConfig> configure_shared(const io::HfConfig& config) {
  ignore_harmless_fields(config);
  TRY(refuse_other_variants(config));
  DecoderConfig decoder;
  decoder.architecture = TRY(config.architecture());
  decoder.vocab_size = TRY(config.integer("vocab_size", 1, kMaxVocab));
  decoder.hidden = TRY(config.integer("hidden_size", 1, kMaxWidth));
  decoder.max_positions = TRY(config.integer("max_position_embeddings", 1, kMaxPositions));
  decoder.norm_epsilon = static_cast<float>(TRY(config.number_or("rms_norm_eps", 1e-6)));
  decoder.tied_embeddings = TRY(config.boolean_or("tie_word_embeddings", false));
  decoder.attention = TRY(configure_attention(config, decoder.hidden));
  decoder.layers.resize(
      static_cast<size_t>(TRY(config.integer("num_hidden_layers", 1, kMaxLayers))));
  // The loader looks at the tensors to learn whether there are biases.
  TRY(config.boolean_or("attention_bias", false));
  return decoder;
}

}  // namespace

Result<DecoderConfig> configure_qwen3_dense(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_shared(config));
  decoder.dense_intermediate = TRY(config.integer("intermediate_size", 1, kMaxWidth));
  return decoder;
}

Result<DecoderConfig> configure_qwen3_moe(const io::HfConfig& config) {
  DecoderConfig decoder = TRY(configure_shared(config));
  MoeConfig& moe = decoder.moe;
  moe.experts = TRY(config.integer_or("num_experts", 128, 0, kMaxExperts));
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
    decoder.dense_intermediate = TRY(config.integer("intermediate_size", 1, kMaxWidth));
  } else {
    TRY(config.integer_or("intermediate_size", 0));
  }
  if (moe.experts > 0) {
    moe.slots = TRY(config.integer("num_experts_per_tok", 1, moe.experts));
    moe.intermediate = TRY(config.integer("moe_intermediate_size", 1, kMaxWidth));
    moe.renormalize = TRY(config.boolean_or("norm_topk_prob", false));
  }
  return decoder;
}

namespace {

Result<AttentionWeights> load_attention(WeightLoader& loader, const std::string& prefix,
                                        const DecoderConfig& config) {
  const AttentionConfig& attention = config.attention;
  const int64_t q_width = attention.heads * attention.head_dim;
  const int64_t kv_width = attention.kv_heads * attention.head_dim;
  const std::string base = prefix + "self_attn.";
  AttentionWeights weights;
  weights.q = TRY(loader.matrix(base + "q_proj.weight", q_width, config.hidden));
  weights.k = TRY(loader.matrix(base + "k_proj.weight", kv_width, config.hidden));
  weights.v = TRY(loader.matrix(base + "v_proj.weight", kv_width, config.hidden));
  weights.o = TRY(loader.matrix(base + "o_proj.weight", config.hidden, q_width));
  weights.q_norm = TRY(loader.vector(base + "q_norm.weight", attention.head_dim));
  weights.k_norm = TRY(loader.vector(base + "k_norm.weight", attention.head_dim));
  const auto bias = [&](const char* name, int64_t width) -> Result<ConstView> {
    if (!loader.has(base + name)) return ConstView{};
    return loader.vector(base + name, width);
  };
  weights.q_bias = TRY(bias("q_proj.bias", q_width));
  weights.k_bias = TRY(bias("k_proj.bias", kv_width));
  weights.v_bias = TRY(bias("v_proj.bias", kv_width));
  weights.o_bias = TRY(bias("o_proj.bias", config.hidden));
  return weights;
}

Result<LayerWeights> load_layer(WeightLoader& loader, const DecoderConfig& config, int64_t layer) {
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  LayerWeights weights;
  weights.input_norm = TRY(loader.vector(prefix + "input_layernorm.weight", config.hidden));
  weights.post_attention_norm =
      TRY(loader.vector(prefix + "post_attention_layernorm.weight", config.hidden));
  weights.attention = TRY(load_attention(loader, prefix, config));
  if (config.layers[static_cast<size_t>(layer)].moe) {
    weights.moe = TRY(loader.experts(prefix + "mlp.", config.moe, config.hidden));
    return weights;
  }
  weights.dense.gate =
      TRY(loader.matrix(prefix + "mlp.gate_proj.weight", config.dense_intermediate, config.hidden));
  weights.dense.up =
      TRY(loader.matrix(prefix + "mlp.up_proj.weight", config.dense_intermediate, config.hidden));
  weights.dense.down =
      TRY(loader.matrix(prefix + "mlp.down_proj.weight", config.hidden, config.dense_intermediate));
  return weights;
}

}  // namespace

Result<DecoderWeights> load_qwen3(WeightLoader& loader, const DecoderConfig& config) {
  DecoderWeights weights;
  weights.embedding =
      TRY(loader.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden));
  weights.final_norm = TRY(loader.vector("model.norm.weight", config.hidden));
  weights.head = config.tied_embeddings
                     ? weights.embedding
                     : TRY(loader.matrix("lm_head.weight", config.vocab_size, config.hidden));
  for (int64_t layer = 0; layer < config.layer_count(); ++layer) {
    weights.layers.push_back(TRY(load_layer(loader, config, layer)));
  }
  return weights;
}

Status forward_qwen3(ForwardContext& context, const Model& model,
                     std::span<const ops::KvCacheView> caches, View hidden) {
  const DecoderConfig& config = model.config();
  const DecoderWeights& weights = model.weights();
  const Arena::Scope scope(context.arena);
  const int64_t tokens = context.batch.token_count();
  const View residual = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  const View normed = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  const View output = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  // Adds `output` to the residual stream and normalises the sum.
  const auto add_and_norm = [&](ConstView norm, View out) {
    return context.ops.run(ops::RmsNorm{output, residual, norm, config.norm_epsilon, out});
  };

  TRY(context.ops.run(ops::GatherRows{weights.embedding, context.batch.tokens, residual}));
  for (size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const LayerWeights& w = weights.layers[layer];
    if (layer == 0) {
      TRY(context.ops.run(ops::RmsNorm{residual, {}, w.input_norm, config.norm_epsilon, normed}));
    } else {
      TRY(add_and_norm(w.input_norm, normed));
    }
    TRY(attention_layer(context, config.attention, config.norm_epsilon, w.attention,
                        model.cos_sin(), caches[layer], normed, output));
    TRY(add_and_norm(w.post_attention_norm, normed));
    if (config.layers[layer].moe) {
      TRY(moe_block(context, config.moe, model.moe_chain().numerics, w.moe, normed, output));
    } else {
      TRY(dense_mlp_layer(context, w.dense, normed, output));
    }
  }
  return add_and_norm(weights.final_norm, hidden);
}

}  // namespace moe::model
