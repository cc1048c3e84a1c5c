#include "model/layers/attention.hpp"

namespace moe::model {
namespace {

struct HeadNorm {
  ConstView weight;  // [1, head_dim], or [1, heads * head_dim] for the whole projection
  float epsilon;
};

// RMSNorm where the model has one, then RoPE; both in place. x: [T, heads * head_dim].
Status norm_and_rotate(ForwardContext& context, const AttentionConfig& config, HeadNorm norm,
                       ConstView cos_sin, View x) {
  if (config.qk_norm != QkNorm::kNone) {
    const int64_t width = norm.weight.cols;
    const View rows = x.reshaped(x.rows * (x.cols / width), width);
    TRY(context.ops.run(ops::RmsNorm{rows, {}, norm.weight, norm.epsilon, rows}));
  }
  ops::Rope rope;
  rope.x = x;
  rope.head_dim = config.head_dim;
  rope.rotary_dim = config.rotary_dim;
  rope.interleaved = config.rope_interleaved;
  rope.positions = context.batch.positions;
  rope.cos_sin = cos_sin;
  return context.ops.run(rope);
}

}  // namespace

Status attention_layer(ForwardContext& context, const AttentionConfig& config, float norm_epsilon,
                       const AttentionWeights& weights, ConstView cos_sin,
                       const ops::KvCacheView& cache, ConstView x, View out) {
  const Arena::Scope scope(context.arena);
  const BatchView& batch = context.batch;
  const int64_t tokens = x.rows;
  const View q = context.arena.matrix(DType::kBf16, tokens, config.heads * config.head_dim);
  const View k = context.arena.matrix(DType::kBf16, tokens, config.kv_heads * config.head_dim);
  const View v = context.arena.matrix(DType::kBf16, tokens, config.kv_heads * config.head_dim);
  const View mixed = context.arena.matrix(DType::kBf16, tokens, config.heads * config.head_dim);

  TRY(context.ops.run(ops::Linear{x, weights.q, weights.q_bias, q}));
  TRY(context.ops.run(ops::Linear{x, weights.k, weights.k_bias, k}));
  TRY(context.ops.run(ops::Linear{x, weights.v, weights.v_bias, v}));
  TRY(norm_and_rotate(context, config, {weights.q_norm, norm_epsilon}, cos_sin, q));
  TRY(norm_and_rotate(context, config, {weights.k_norm, norm_epsilon}, cos_sin, k));
  TRY(context.ops.run(ops::KvCacheStore{k, v, batch.slots, cache}));

  ops::AttentionPaged attention;
  attention.q = q;
  attention.cache = cache;
  attention.heads = config.heads;
  attention.kv_heads = config.kv_heads;
  attention.head_dim = config.head_dim;
  attention.scale = config.scale;
  attention.block_tables = batch.block_tables;
  attention.max_blocks = batch.max_blocks;
  attention.query_begin = batch.query_begin;
  attention.context_length = batch.context_length;
  attention.out = mixed;
  TRY(context.ops.run(attention));
  return context.ops.run(ops::Linear{mixed, weights.o, weights.o_bias, out});
}

}  // namespace moe::model
