// The mixture-of-experts block of every model: router, expert projections, combination, and the
// shared expert where there is one.
//
// The only place that knows the two expert chains; a model never loops over experts.
#pragma once

#include "model/config.hpp"
#include "model/forward_context.hpp"
#include "model/weights.hpp"

namespace moe::model {

// x, out: [T, H] bf16. `numerics` is what ops::select_moe_chain chose for the model.
Status moe_block(ForwardContext& context, const MoeConfig& config, ops::MoeNumerics numerics,
                 const MoeWeights& weights, ConstView x, View out);

}  // namespace moe::model
