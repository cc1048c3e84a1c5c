// The dense feed-forward layer: out = Wd (silu(Wg x) * (Wu x)).
#pragma once

#include "model/forward_context.hpp"
#include "model/weights.hpp"

namespace moe::model {

// x, out: [T, H] bf16.
Status dense_mlp_layer(ForwardContext& context, const DenseMlpWeights& weights, ConstView x,
                       View out);

}  // namespace moe::model
