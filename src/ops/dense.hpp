// Descriptions and contracts of the operations outside attention and the experts.
//
// Notation: b() rounds FP32 to BF16 (nearest, ties to even), f() widens. dot32 accumulates in
// FP32 in a fixed order that depends on K alone; the reference's order is in dot.hpp, exp and silu
// are those of exp.hpp, and validate.hpp says when a description is refused. Roundings follow
// vLLM's eager mode; the source of each is in docs/numerics.md. Every `*_ref` function is the
// definition of its op. All memory is on the device; a view's rows may be strided. Zero rows are
// valid and do nothing.
#pragma once

#include "moe/result.hpp"
#include "ops/op_id.hpp"
#include "tensor/view.hpp"

namespace moe::ops {

// out[t] = table[ids[t]]. Errors: invalid_argument for an id outside [0, table.rows).
struct GatherRows {
  static constexpr OpId kId = OpId::kGatherRows;
  ConstView table;           // [V, H] bf16
  Array<const int32_t> ids;  // [T]
  View out;                  // [T, H] bf16
};
Status gather_rows_ref(const GatherRows&);

// Without residual: out = b((f(x) * rstd) * f(w)), rstd = 1 / sqrt(sum(f(x)^2) / C + eps) in FP32;
// element i of the sum goes to lane i mod 16, lanes fold as in dot32.
// With residual: z = b(f(x) + f(residual)); residual = z; out = b((f(z) * rstd(z)) * f(w)).
// out may be x itself.
struct RmsNorm {
  static constexpr OpId kId = OpId::kRmsNorm;
  ConstView x;       // [R, C] bf16
  View residual;     // [R, C] bf16, read and written; absent = no residual
  ConstView weight;  // [1, C] bf16
  float epsilon = 0;
  View out;  // [R, C] bf16
};
Status rms_norm_ref(const RmsNorm&);

// Rotates the first `rotary_dim` values of each head, in place:
// x1' = b(x1*c - x2*s), x2' = b(x2*c + x1*s), FP32 products and one rounding each.
// Pairs are (i, i + rotary_dim/2), or (2i, 2i+1) when interleaved.
// Errors: invalid_argument for a position outside the table.
struct Rope {
  static constexpr OpId kId = OpId::kRope;
  View x;  // [T, heads * head_dim] bf16
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;  // even, <= head_dim
  bool interleaved = false;
  Array<const int32_t> positions;  // [T]
  ConstView cos_sin;               // [positions, rotary_dim] bf16: cos in the first half, then sin
};
Status rope_ref(const Rope&);

// y = b(dot32(x, w) + bias) or, with an F32 output, the accumulator (+ bias) itself.
struct Linear {
  static constexpr OpId kId = OpId::kLinearBf16;
  ConstView x;     // [T, K] bf16
  ConstView w;     // [N, K] bf16
  ConstView bias;  // [1, N] bf16, absent = none
  View y;          // [T, N] bf16 or f32
};
Status linear_ref(const Linear&);

// y = dot of f(x) and w in FP32, each product rounded to FP32, in the order of dot32: where w holds
// BF16 values, y has the bits of Linear with an F32 output. For routers whose weights are FP32.
struct LinearF32 {
  static constexpr OpId kId = OpId::kLinearF32;
  ConstView x;  // [T, K] bf16
  ConstView w;  // [N, K] f32
  View y;       // [T, N] f32
};
Status linear_f32_ref(const LinearF32&);

// BF16 inputs: s = b(silu(f(gate))), out = b(f(s) * f(up)) (vLLM's activation kernel).
// F32 inputs: out = b(silu(gate) * up), the one rounding of the legacy expert chain.
// silu(v) = v / (1 + exp(-v)) in FP32, with a division.
struct SiluMul {
  static constexpr OpId kId = OpId::kSiluMul;
  ConstView gate;  // [R, I] bf16 or f32
  ConstView up;    // [R, I], dtype as gate
  View out;        // [R, I] bf16
};
Status silu_mul_ref(const SiluMul&);

// t[r] = b(f(x[r]) * s) with s = scale, or s = b(1 / (1 + exp(-f(gate[r])))) for each row r when
// there is a gate; out = t, or b(f(addend) + f(t)) with an addend. With a gate, scale must be 1.
// out may be x or addend itself.
struct ScaleAdd {
  static constexpr OpId kId = OpId::kScaleAdd;
  ConstView x;       // [R, C] bf16
  ConstView gate;    // [R, 1] bf16, absent = none
  float scale = 1;   // finite
  ConstView addend;  // [R, C] bf16, absent = none
  View out;          // [R, C] bf16
};
Status scale_add_ref(const ScaleAdd&);

}  // namespace moe::ops
