#include "model/layers/moe_block.hpp"

#include "model/layers/dense_mlp.hpp"

namespace moe::model {
namespace {

// What the router decided for T tokens; P = T * K pairs.
struct Routing {
  Array<int32_t> experts;  // [P]
  Array<float> weights;    // [P]
};

Result<Routing> route(ForwardContext& context, const MoeConfig& config, const MoeWeights& weights,
                      ConstView x) {
  const int64_t pairs = x.rows * config.slots;
  const View logits =
      context.arena.matrix(config.router_f32 ? DType::kF32 : DType::kBf16, x.rows, config.experts);
  const Routing routing{context.arena.array<int32_t>(pairs), context.arena.array<float>(pairs)};
  if (weights.router.dtype == DType::kF32) {
    TRY(context.ops.run(ops::LinearF32{x, weights.router, logits}));
  } else {
    TRY(context.ops.run(ops::Linear{x, weights.router, {}, logits}));
  }
  ops::RouterTopK top_k;
  top_k.logits = logits;
  top_k.bias = weights.correction_bias;
  top_k.scoring = config.scoring;
  top_k.renormalize = config.renormalize;
  top_k.groups = config.groups;
  top_k.kept_groups = config.kept_groups;
  top_k.group_score = config.group_score;
  top_k.scale = config.weight_scale;
  top_k.slots = config.slots;
  top_k.ids = routing.experts;
  top_k.weights = routing.weights;
  TRY(context.ops.run(top_k));
  return routing;
}

// out = sum over the chosen experts.
Status routed_experts(ForwardContext& context, const MoeConfig& config, ops::MoeNumerics numerics,
                      const MoeWeights& weights, ConstView x, View out) {
  const Arena::Scope scope(context.arena);
  const Routing routing = TRY(route(context, config, weights, x));
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

// out = the expert that every token takes, behind its gate if it has one.
Status shared_expert(ForwardContext& context, const MoeWeights& weights, ConstView x, View out) {
  const Arena::Scope scope(context.arena);
  TRY(dense_mlp_layer(context, weights.shared, x, out));
  if (weights.shared_gate.absent()) return {};
  const View gate = context.arena.matrix(DType::kBf16, x.rows, 1);
  TRY(context.ops.run(ops::Linear{x, weights.shared_gate, {}, gate}));
  return context.ops.run(ops::ScaleAdd{out, gate, 1, {}, out});
}

}  // namespace

Status moe_block(ForwardContext& context, const MoeConfig& config, ops::MoeNumerics numerics,
                 const MoeWeights& weights, ConstView x, View out) {
  TRY(routed_experts(context, config, numerics, weights, x, out));
  const bool shared = config.shared_intermediate > 0;
  if (!shared && config.output_scale == 1) return {};
  const Arena::Scope scope(context.arena);
  ops::ScaleAdd sum{out, {}, config.output_scale, {}, out};
  if (shared) {
    const View addend = context.arena.matrix(DType::kBf16, x.rows, x.cols);
    TRY(shared_expert(context, weights, x, addend));
    sum.addend = addend;
  }
  return context.ops.run(sum);
}

}  // namespace moe::model
