// Grouped-query attention over the paged cache: projections, optional q/k norm per head, RoPE.
#pragma once

#include "model/config.hpp"
#include "model/forward_context.hpp"
#include "model/weights.hpp"

namespace moe::model {

// out[t] = Wo attention(x)[t]; also writes the keys and values of the batch into `cache`.
// x, out: [T, H] bf16; cos_sin: [positions, rotary_dim] bf16.
Status attention_layer(ForwardContext& context, const AttentionConfig& config, float norm_epsilon,
                       const AttentionWeights& weights, ConstView cos_sin,
                       const ops::KvCacheView& cache, ConstView x, View out);

}  // namespace moe::model
