// The expert operations: routers, grouped GEMMs over chosen experts, combination.
//
// A pair p is one (token, slot) choice; P = T * K pairs, p = t * K + slot. Notation as in
// dense.hpp, r = routing weight (FP32). The two chains of the numeric contract:
//   native  g = b(dot32(x,Wg)); u = b(dot32(x,Wu)); a = b(b(silu(g)) * u); d = b(dot32(a,Wd) * r);
//           y = b(sum32 d)
//   legacy  a = b(silu(g32) * u32); d = b(dot32(a,Wd)); y = b(sum32 r * d)
// vLLM sources: fused_moe/experts/triton_moe.py, csrc/activation_kernels.cu (see docs/numerics.md).
// An expert id of -1 means "not on this rank": the pair's row becomes zero and adds nothing. Any
// other id outside [0, E), or a row_map entry outside x, is invalid_argument, and no memory is
// touched through it. A row's bits depend on that row, its expert and its weight alone.
#pragma once

#include "moe/result.hpp"
#include "ops/op_id.hpp"
#include "tensor/view.hpp"

namespace moe::ops {

enum class MoeNumerics : uint8_t { kLegacy, kNative };

// One projection of all experts: E matrices [rows, cols] bf16, either through an array of
// addresses on the device or as one base with a stride.
struct ExpertMatrices {
  Array<const int64_t> pointers;  // [E] device addresses; absent = base + expert * expert_stride
  const Bf16* base = nullptr;
  int64_t expert_stride = 0;  // elements
  int64_t row_stride = 0;     // elements, >= cols
  int64_t experts = 0;
  int64_t rows = 0;  // N
  int64_t cols = 0;  // K

  const Bf16* expert(int64_t e) const {
    if (!pointers.absent()) return reinterpret_cast<const Bf16*>(pointers[e]);
    return base + e * expert_stride;
  }
};

// Which input row and which expert each pair takes.
struct PairMap {
  Array<const int32_t> row_map;     // [P]; absent = identity
  Array<const int32_t> expert_ids;  // [P]
};

// act[p] = silu-mul of the gate and up projections of x[row_map[p]] (native or legacy roundings).
struct MoeGateUpSilu {
  static constexpr OpId kId = OpId::kMoeGroupedGemmBf16GateUpSilu;
  MoeNumerics numerics = MoeNumerics::kLegacy;
  ConstView x;  // [T, H] bf16
  PairMap pairs;
  ExpertMatrices gate;  // E x [I, H]
  ExpertMatrices up;    // E x [I, H]
  View act;             // [P, I] bf16
};
Status moe_gate_up_silu_ref(const MoeGateUpSilu&);

// y[p] = b(dot32(x[row_map[p]], W_e)), or the FP32 accumulator with an F32 output.
struct MoeGroupedGemm {
  static constexpr OpId kId = OpId::kMoeGroupedGemmBf16;
  ConstView x;  // [R, K] bf16
  PairMap pairs;
  ExpertMatrices w;  // E x [N, K]
  View y;            // [P, N] bf16 or f32
};
Status moe_grouped_gemm_ref(const MoeGroupedGemm&);

// y[p] = b(dot32(x[row_map[p]], W_e) * routing_weights[p]): the weight meets the FP32 accumulator
// before the only rounding.
struct MoeGroupedGemmWeighted {
  static constexpr OpId kId = OpId::kMoeGroupedGemmBf16Weighted;
  ConstView x;  // [R, K] bf16
  PairMap pairs;
  ExpertMatrices w;                    // E x [N, K]
  Array<const float> routing_weights;  // [P]
  View y;                              // [P, N] bf16
};
Status moe_grouped_gemm_weighted_ref(const MoeGroupedGemmWeighted&);

// y[t] = b(sum over slots in ascending order of routing_weights[p] * f(rows[p])), FP32, skipping
// pairs whose id is -1.
struct MoeCombine {
  static constexpr OpId kId = OpId::kMoeCombine;
  ConstView rows;                      // [T * K, H] bf16
  Array<const int32_t> expert_ids;     // [T * K]
  Array<const float> routing_weights;  // [T * K]
  int64_t slots = 0;                   // K
  View y;                              // [T, H] bf16
};
Status moe_combine_ref(const MoeCombine&);

// y[t] = b(sum over slots of f(rows[p])), as above without the weight.
struct MoeCombinePreweighted {
  static constexpr OpId kId = OpId::kMoeCombinePreweighted;
  ConstView rows;                   // [T * K, H] bf16
  Array<const int32_t> expert_ids;  // [T * K]
  int64_t slots = 0;                // K
  View y;                           // [T, H] bf16
};
Status moe_combine_preweighted_ref(const MoeCombinePreweighted&);

enum class RouterScoring : uint8_t { kSoftmax, kSoftmaxAfterTopK, kSigmoid };
enum class GroupScore : uint8_t { kMax, kTop2Sum };

// Chooses `slots` experts a token, best first; equal scores go to the lower index, for experts and
// for groups. Scores are computed in FP64 (math64.hpp) from the logits as stored, so that FP32
// roundings tie nothing; weights are rounded to FP32 once. With a bias, score + bias is compared
// and the plain score is the weight; without one the logits themselves are compared.
// With groups, the best `kept_groups` of `groups` neighbouring groups stay, judged by their best
// compared score or the sum of their two best (of the scores, when there is no bias).
// renormalize divides by the sum of the chosen weights if that is above 0; then `scale` multiplies.
// A row with a NaN logit: NaN never wins; a row of nothing but NaN gets experts 0..K-1 with weight
// 0. A score that is not a number (infinite logits) counts as 0. Ids are unique, weights finite.
struct RouterTopK {
  static constexpr OpId kId = OpId::kRouterTopK;
  ConstView logits;         // [T, E] bf16 or f32
  Array<const float> bias;  // [E], absent = none
  RouterScoring scoring = RouterScoring::kSoftmax;
  bool renormalize = false;
  int64_t groups = 1;
  int64_t kept_groups = 1;
  GroupScore group_score = GroupScore::kMax;
  float scale = 1;
  int64_t slots = 0;     // K
  Array<int32_t> ids;    // [T * K]
  Array<float> weights;  // [T * K]
};
Status router_top_k_ref(const RouterTopK&);

}  // namespace moe::ops
