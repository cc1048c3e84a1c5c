#include "model/decoder.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "model/layers/attention.hpp"
#include "model/layers/dense_mlp.hpp"
#include "model/layers/moe_block.hpp"

namespace moe::model {
namespace {

// The bias of a projection, absent where the configuration has none.
Result<ConstView> load_bias(WeightLoader& loader, const std::string& name, int64_t width,
                            bool wanted) {
  if (wanted) return loader.vector(name, width);
  if (!loader.has(name)) return ConstView{};
  return corrupt(
      fmt::format("the checkpoint has a tensor {}, and config.json asks for no bias", name),
      "check that config.json belongs to these weights");
}

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
  weights.q_bias = TRY(load_bias(loader, base + "q_proj.bias", q_width, attention.qkv_bias));
  weights.k_bias = TRY(load_bias(loader, base + "k_proj.bias", kv_width, attention.qkv_bias));
  weights.v_bias = TRY(load_bias(loader, base + "v_proj.bias", kv_width, attention.qkv_bias));
  weights.o_bias = TRY(load_bias(loader, base + "o_proj.bias", config.hidden, attention.o_bias));
  if (attention.qk_norm == QkNorm::kNone) return weights;
  const bool per_head = attention.qk_norm == QkNorm::kPerHead;
  weights.q_norm =
      TRY(loader.vector(base + "q_norm.weight", per_head ? attention.head_dim : q_width));
  weights.k_norm =
      TRY(loader.vector(base + "k_norm.weight", per_head ? attention.head_dim : kv_width));
  return weights;
}

Result<DenseMlpWeights> load_mlp(WeightLoader& loader, const std::string& prefix, int64_t width,
                                 int64_t hidden) {
  DenseMlpWeights weights;
  weights.gate = TRY(loader.matrix(prefix + "gate_proj.weight", width, hidden));
  weights.up = TRY(loader.matrix(prefix + "up_proj.weight", width, hidden));
  weights.down = TRY(loader.matrix(prefix + "down_proj.weight", hidden, width));
  return weights;
}

Result<MoeWeights> load_moe(WeightLoader& loader, const std::string& layer_prefix,
                            const MoeConfig& moe, int64_t hidden) {
  const auto name = [&](std::string_view tensor) {
    return fmt::format("{}{}{}", layer_prefix, moe.names.block, tensor);
  };
  MoeWeights weights;
  const std::string router = name(moe.names.router);
  weights.router = moe.router_f32 ? TRY(loader.matrix_or_f32(router, moe.experts, hidden))
                                  : TRY(loader.matrix(router, moe.experts, hidden));
  if (moe.correction_bias) {
    weights.correction_bias = TRY(loader.floats(name(moe.names.correction_bias), moe.experts));
  }
  TRY(loader.experts(name(""), moe, hidden, weights));
  if (moe.shared_intermediate == 0) return weights;
  weights.shared =
      TRY(load_mlp(loader, name(moe.names.shared_expert), moe.shared_intermediate, hidden));
  if (moe.shared_gate) {
    weights.shared_gate = TRY(loader.matrix(name(moe.names.shared_gate), 1, hidden));
  }
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
    weights.moe = TRY(load_moe(loader, prefix, config.moe, config.hidden));
  } else {
    weights.dense =
        TRY(load_mlp(loader, prefix + "mlp.", config.dense_intermediate, config.hidden));
  }
  return weights;
}

}  // namespace

Result<DecoderWeights> load_decoder(WeightLoader& loader, const DecoderConfig& config) {
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

Status forward_decoder(ForwardContext& context, const Model& model,
                       std::span<const ops::KvCacheView> caches, View hidden) {
  const DecoderConfig& config = model.config();
  const DecoderWeights& weights = model.weights();
  const Arena::Scope scope(context.arena);
  const int64_t tokens = context.batch.token_count();
  const View residual = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  const View normed = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  const View output = context.arena.matrix(DType::kBf16, tokens, config.hidden);
  // Adds `output` to the residual stream and normalises the sum.
  const auto add_and_norm = [&](ConstView norm, View out) -> Status {
    if (config.residual_multiplier == 1) {
      return context.ops.run(ops::RmsNorm{output, residual, norm, config.norm_epsilon, out});
    }
    TRY(context.ops.run(ops::ScaleAdd{output, {}, config.residual_multiplier, residual, residual}));
    return context.ops.run(ops::RmsNorm{residual, {}, norm, config.norm_epsilon, out});
  };

  TRY(context.ops.run(ops::GatherRows{weights.embedding, context.batch.tokens, residual}));
  if (config.embedding_multiplier != 1) {
    TRY(context.ops.run(ops::ScaleAdd{residual, {}, config.embedding_multiplier, {}, residual}));
  }
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
