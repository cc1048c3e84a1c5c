#include "model/layers/moe_block.hpp"

namespace moe::model {
namespace {

// What the router decided for T tokens; P = T * K pairs.
struct Routing {
  Array<int32_t> experts;  // [P]
  Array<float> weights;    // [P]
};

Result<Routing> route(ForwardContext& context, const MoeConfig& config, ConstView router,
                      ConstView x) {
  const int64_t pairs = x.rows * config.slots;
  const View logits = context.arena.matrix(DType::kBf16, x.rows, config.experts);
  const Routing routing{context.arena.array<int32_t>(pairs), context.arena.array<float>(pairs)};
  TRY(context.ops.run(ops::Linear{x, router, {}, logits}));
  ops::RouterTopK top_k;
  top_k.logits = logits;
  top_k.scoring = config.scoring;
  top_k.renormalize = config.renormalize;
  top_k.slots = config.slots;
  top_k.ids = routing.experts;
  top_k.weights = routing.weights;
  TRY(context.ops.run(top_k));
  return routing;
}

}  // namespace

Status moe_block(ForwardContext& context, const MoeConfig& config, ops::MoeNumerics numerics,
                 const MoeWeights& weights, ConstView x, View out) {
  const Arena::Scope scope(context.arena);
  const Routing routing = TRY(route(context, config, weights.router, x));
  const int64_t pairs = routing.experts.size;
  const View act = context.arena.matrix(DType::kBf16, pairs, config.intermediate);
  const View down = context.arena.matrix(DType::kBf16, pairs, x.cols);

  ops::MoeGateUpSilu gate_up;
  gate_up.numerics = numerics;
  gate_up.x = x;
  gate_up.pairs = {context.batch.token_of_pair, routing.experts};
  gate_up.gate = weights.gate;
  gate_up.up = weights.up;
  gate_up.act = act;
  TRY(context.ops.run(gate_up));

  const ops::PairMap identity{{}, routing.experts};
  if (numerics == ops::MoeNumerics::kNative) {
    TRY(context.ops.run(
        ops::MoeGroupedGemmWeighted{act, identity, weights.down, routing.weights, down}));
    return context.ops.run(ops::MoeCombinePreweighted{down, routing.experts, config.slots, out});
  }
  TRY(context.ops.run(ops::MoeGroupedGemm{act, identity, weights.down, down}));
  return context.ops.run(
      ops::MoeCombine{down, routing.experts, routing.weights, config.slots, out});
}

}  // namespace moe::model
