// The references of dense.hpp: scalar, in the order and with the roundings of the contract.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/dense.hpp"
#include "ops/dot.hpp"
#include "ops/exp.hpp"
#include "ops/validate.hpp"

namespace moe::ops {
namespace {

// Element i goes to lane i mod 16.
float sum_of_squares(const Bf16* values, int64_t count) {
  std::array<float, kDotLanes> lanes{};
  for (int64_t i = 0; i < count; ++i) {
    const float value = to_f32(values[i]);
    lanes[static_cast<size_t>(i % kDotLanes)] += value * value;
  }
  return fold_lanes(lanes);
}

void rotate_pair(Bf16& first, Bf16& second, float cosine, float sine) {
  const float x1 = to_f32(first);
  const float x2 = to_f32(second);
  first = to_bf16(x1 * cosine - x2 * sine);
  second = to_bf16(x2 * cosine + x1 * sine);
}

}  // namespace

Status gather_rows_ref(const GatherRows& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.ids.size; ++t) {
    std::copy_n(op.table.bf16_row(op.ids[t]), op.out.cols, op.out.bf16_row(t));
  }
  return {};
}

Status rms_norm_ref(const RmsNorm& op) {
  TRY(validate(op));
  const int64_t cols = op.x.cols;
  for (int64_t r = 0; r < op.x.rows; ++r) {
    const Bf16* z = op.x.bf16_row(r);
    if (!op.residual.absent()) {
      Bf16* residual = op.residual.bf16_row(r);
      for (int64_t c = 0; c < cols; ++c) residual[c] = to_bf16(to_f32(z[c]) + to_f32(residual[c]));
      z = residual;
    }
    const float mean = sum_of_squares(z, cols) / static_cast<float>(cols);
    const float rstd = 1.0F / std::sqrt(mean + op.epsilon);
    const Bf16* weight = op.weight.bf16_row(0);
    Bf16* out = op.out.bf16_row(r);
    for (int64_t c = 0; c < cols; ++c) out[c] = to_bf16((to_f32(z[c]) * rstd) * to_f32(weight[c]));
  }
  return {};
}

Status rope_ref(const Rope& op) {
  TRY(validate(op));
  const int64_t half = op.rotary_dim / 2;
  for (int64_t t = 0; t < op.x.rows; ++t) {
    const Bf16* cosines = op.cos_sin.bf16_row(op.positions[t]);
    const Bf16* sines = cosines + half;
    for (int64_t begin = 0; begin < op.x.cols; begin += op.head_dim) {
      Bf16* head = op.x.bf16_row(t) + begin;
      for (int64_t i = 0; i < half; ++i) {
        Bf16& first = op.interleaved ? head[2 * i] : head[i];
        Bf16& second = op.interleaved ? head[2 * i + 1] : head[i + half];
        rotate_pair(first, second, to_f32(cosines[i]), to_f32(sines[i]));
      }
    }
  }
  return {};
}

Status linear_ref(const Linear& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.x.rows; ++t) {
    for (int64_t n = 0; n < op.w.rows; ++n) {
      float sum = dot32(op.x.bf16_row(t), op.w.bf16_row(n), op.w.cols);
      if (!op.bias.absent()) sum += to_f32(op.bias.bf16_row(0)[n]);
      if (op.y.dtype == DType::kF32) {
        op.y.f32_row(t)[n] = sum;
      } else {
        op.y.bf16_row(t)[n] = to_bf16(sum);
      }
    }
  }
  return {};
}

Status linear_f32_ref(const LinearF32& op) {
  TRY(validate(op));
  for (int64_t t = 0; t < op.x.rows; ++t) {
    for (int64_t n = 0; n < op.w.rows; ++n) {
      op.y.f32_row(t)[n] = dot32(op.x.bf16_row(t), op.w.f32_row(n), op.w.cols);
    }
  }
  return {};
}

Status silu_mul_ref(const SiluMul& op) {
  TRY(validate(op));
  for (int64_t r = 0; r < op.out.rows; ++r) {
    Bf16* out = op.out.bf16_row(r);
    for (int64_t i = 0; i < op.out.cols; ++i) {
      if (op.gate.dtype == DType::kF32) {
        out[i] = to_bf16(silu_f32(op.gate.f32_row(r)[i]) * op.up.f32_row(r)[i]);
      } else {
        const float s = round_bf16(silu_f32(to_f32(op.gate.bf16_row(r)[i])));
        out[i] = to_bf16(s * to_f32(op.up.bf16_row(r)[i]));
      }
    }
  }
  return {};
}

Status scale_add_ref(const ScaleAdd& op) {
  TRY(validate(op));
  for (int64_t r = 0; r < op.out.rows; ++r) {
    const float scale =
        op.gate.absent() ? op.scale : round_bf16(sigmoid_f32(to_f32(op.gate.bf16_row(r)[0])));
    const Bf16* x = op.x.bf16_row(r);
    Bf16* out = op.out.bf16_row(r);
    for (int64_t c = 0; c < op.out.cols; ++c) {
      const Bf16 scaled = to_bf16(to_f32(x[c]) * scale);
      out[c] =
          op.addend.absent() ? scaled : to_bf16(to_f32(op.addend.bf16_row(r)[c]) + to_f32(scaled));
    }
  }
  return {};
}

}  // namespace moe::ops
