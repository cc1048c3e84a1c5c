#include "model/layers/dense_mlp.hpp"

namespace moe::model {

Status dense_mlp_layer(ForwardContext& context, const DenseMlpWeights& weights, ConstView x,
                       View out) {
  const Arena::Scope scope(context.arena);
  const int64_t width = weights.gate.rows;
  const View gate = context.arena.matrix(DType::kBf16, x.rows, width);
  const View up = context.arena.matrix(DType::kBf16, x.rows, width);
  TRY(context.ops.run(ops::Linear{x, weights.gate, {}, gate}));
  TRY(context.ops.run(ops::Linear{x, weights.up, {}, up}));
  TRY(context.ops.run(ops::SiluMul{gate, up, gate}));
  return context.ops.run(ops::Linear{gate, weights.down, {}, out});
}

}  // namespace moe::model
