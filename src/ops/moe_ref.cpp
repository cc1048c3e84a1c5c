// The references of the expert operations of moe.hpp (the router is in router_ref.cpp): scalar, one
// pair at a time, with the roundings of the two chains.
#include <algorithm>

#include "ops/dot.hpp"
#include "ops/exp.hpp"
#include "ops/moe.hpp"
#include "ops/validate.hpp"

namespace moe::ops {
namespace {

const Bf16* input_row(const ConstView& x, const PairMap& pairs, int64_t p) {
  return x.bf16_row(pairs.row_map.absent() ? p : pairs.row_map[p]);
}

Bf16 activation(MoeNumerics numerics, float gate, float up) {
  if (numerics == MoeNumerics::kLegacy) return to_bf16(silu_f32(gate) * up);
  const float s = round_bf16(silu_f32(round_bf16(gate)));
  return to_bf16(s * round_bf16(up));
}

}  // namespace

Status moe_gate_up_silu_ref(const MoeGateUpSilu& op) {
  TRY(validate(op));
  for (int64_t p = 0; p < op.act.rows; ++p) {
    Bf16* act = op.act.bf16_row(p);
    const int32_t expert = op.pairs.expert_ids[p];
    if (expert < 0) {
      std::fill_n(act, op.act.cols, Bf16{});
      continue;
    }
    const Bf16* x = input_row(op.x, op.pairs, p);
    const Bf16* gate = op.gate.expert(expert);
    const Bf16* up = op.up.expert(expert);
    for (int64_t i = 0; i < op.gate.rows; ++i) {
      act[i] = activation(op.numerics, dot32(x, gate + i * op.gate.row_stride, op.gate.cols),
                          dot32(x, up + i * op.up.row_stride, op.up.cols));
    }
  }
  return {};
}

Status moe_grouped_gemm_ref(const MoeGroupedGemm& op) {
  TRY(validate(op));
  const bool wide = op.y.dtype == DType::kF32;
  for (int64_t p = 0; p < op.y.rows; ++p) {
    const int32_t expert = op.pairs.expert_ids[p];
    for (int64_t n = 0; n < op.w.rows; ++n) {
      float sum = 0;
      if (expert >= 0) {
        sum = dot32(input_row(op.x, op.pairs, p), op.w.expert(expert) + n * op.w.row_stride,
                    op.w.cols);
      }
      if (wide) {
        op.y.f32_row(p)[n] = sum;
      } else {
        op.y.bf16_row(p)[n] = to_bf16(sum);
      }
    }
  }
  return {};
}

Status moe_grouped_gemm_weighted_ref(const MoeGroupedGemmWeighted& op) {
  TRY(validate(op));
  for (int64_t p = 0; p < op.y.rows; ++p) {
    Bf16* y = op.y.bf16_row(p);
    const int32_t expert = op.pairs.expert_ids[p];
    if (expert < 0) {
      std::fill_n(y, op.y.cols, Bf16{});
      continue;
    }
    const Bf16* x = input_row(op.x, op.pairs, p);
    const Bf16* w = op.w.expert(expert);
    for (int64_t n = 0; n < op.w.rows; ++n) {
      y[n] = to_bf16(dot32(x, w + n * op.w.row_stride, op.w.cols) * op.routing_weights[p]);
    }
  }
  return {};
}

Status moe_combine_ref(const MoeCombine& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.y.rows; ++t) {
    for (int64_t c = 0; c < op.y.cols; ++c) {
      float sum = 0;
      for (int64_t p = t * op.slots; p < (t + 1) * op.slots; ++p) {
        if (op.expert_ids[p] >= 0) sum += op.routing_weights[p] * to_f32(op.rows.bf16_row(p)[c]);
      }
      op.y.bf16_row(t)[c] = to_bf16(sum);
    }
  }
  return {};
}

Status moe_combine_preweighted_ref(const MoeCombinePreweighted& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.y.rows; ++t) {
    for (int64_t c = 0; c < op.y.cols; ++c) {
      float sum = 0;
      for (int64_t p = t * op.slots; p < (t + 1) * op.slots; ++p) {
        if (op.expert_ids[p] >= 0) sum += to_f32(op.rows.bf16_row(p)[c]);
      }
      op.y.bf16_row(t)[c] = to_bf16(sum);
    }
  }
  return {};
}

}  // namespace moe::ops
