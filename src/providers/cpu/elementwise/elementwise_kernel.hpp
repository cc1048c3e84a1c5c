// Kernels without a long dot product: roundings, activation, norm, rotary embedding, combination.
// Each gives the bits of its reference: no fused multiply-add, and the exponential is the sequence
// of operations of ops/exp.hpp. One pass over memory each (the norm: two, the second from L1). One
// source for all instruction sets; V is a type of arch/vec_*.hpp.
#pragma once

#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {
namespace {

// ops::exp_f32 in every lane.
template <class V>
inline typename V::F exp_lanes(typename V::F x) {
  using F = typename V::F;
  const F round = V::set1(12582912.0F);  // 1.5 * 2^23
  const F t = V::max(V::min(x, V::set1(89.0F)), V::set1(-104.0F));
  const F n = V::sub(V::add(V::mul(t, V::set1(1.44269504F)), round), round);
  const F r =
      V::sub(V::sub(t, V::mul(n, V::set1(0.693359375F))), V::mul(n, V::set1(-2.12194440e-4F)));
  constexpr float kPolynomial[] = {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                                   1.6666665459e-1F, 5.0000001201e-1F};
  F p = V::set1(1.9875691500e-4F);
  for (float coefficient : kPolynomial) p = V::add(V::mul(p, r), V::set1(coefficient));
  p = V::add(V::add(V::mul(p, V::mul(r, r)), r), V::set1(1.0F));
  const typename V::I exponent = V::to_int(n);
  const typename V::I half = V::half(exponent);
  const F result = V::mul(V::mul(p, V::pow2(half)), V::pow2(V::sub(exponent, half)));
  return V::nan_or(x, result);
}

template <class V>
inline typename V::F negated(typename V::F v) {
  return V::mul(v, V::set1(-1.0F));
}

// ops::silu_f32 in every lane.
template <class V>
inline typename V::F silu_lanes(typename V::F v) {
  return V::div(v, V::add(V::set1(1.0F), exp_lanes<V>(negated<V>(v))));
}

// Calls step(begin, lanes) for each group of 16, the last one with fewer lanes.
template <class V, class Step>
inline void for_lanes(int64_t count, Step step) {
  int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) step(i, int64_t{V::kLanes});
  if (i < count) step(i, count - i);
}

template <class V>
inline typename V::F widen_some(const Bf16* src, int64_t lanes) {
  return lanes == V::kLanes ? V::widen(src) : V::widen_n(src, lanes);
}
template <class V>
inline typename V::F load_some(const float* src, int64_t lanes) {
  return lanes == V::kLanes ? V::load(src) : V::load_n(src, lanes);
}
template <class V>
inline void narrow_some(Bf16* dst, typename V::F a, int64_t lanes) {
  lanes == V::kLanes ? V::narrow(dst, a) : V::narrow_n(dst, a, lanes);
}
template <class V>
inline void store_some(float* dst, typename V::F a, int64_t lanes) {
  lanes == V::kLanes ? V::store(dst, a) : V::store_n(dst, a, lanes);
}

template <class V>
void narrow(const float* src, Bf16* dst, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    narrow_some<V>(dst + i, load_some<V>(src + i, lanes), lanes);
  });
}

template <class V>
void narrow_scaled(const float* src, float factor, Bf16* dst, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    narrow_some<V>(dst + i, V::mul(load_some<V>(src + i, lanes), V::set1(factor)), lanes);
  });
}

template <class V>
void narrow_divided(const float* acc, float sum, Bf16* dst, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    narrow_some<V>(dst + i, V::div(load_some<V>(acc + i, lanes), V::set1(sum)), lanes);
  });
}

template <class V>
void add_bias(float* acc, const Bf16* bias, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    const typename V::F sum = V::add(load_some<V>(acc + i, lanes), widen_some<V>(bias + i, lanes));
    store_some<V>(acc + i, sum, lanes);
  });
}

template <class V>
void silu_mul_f32(const float* gate, const float* up, Bf16* dst, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    const typename V::F s = silu_lanes<V>(load_some<V>(gate + i, lanes));
    narrow_some<V>(dst + i, V::mul(s, load_some<V>(up + i, lanes)), lanes);
  });
}

template <class V>
void silu_mul_bf16(const Bf16* gate, const Bf16* up, Bf16* dst, int64_t count) {
  for_lanes<V>(count, [=](int64_t i, int64_t lanes) {
    const typename V::F s = V::round_bf16(silu_lanes<V>(widen_some<V>(gate + i, lanes)));
    narrow_some<V>(dst + i, V::mul(s, widen_some<V>(up + i, lanes)), lanes);
  });
}

template <class V>
void scale_add_row(const ScaleAddRow& row) {
  using F = typename V::F;
  for_lanes<V>(row.cols, [&](int64_t i, int64_t lanes) {
    F value = V::mul(widen_some<V>(row.x + i, lanes), V::set1(row.scale));
    if (row.addend != nullptr) {
      value = V::add(widen_some<V>(row.addend + i, lanes), V::round_bf16(value));
    }
    narrow_some<V>(row.out + i, value, lanes);
  });
}

// Phase 1: the residual sum and the sum of squares, element i in lane i mod 16 (a missing lane adds
// +0 to a sum that is not negative). Phase 2: scale by rstd and weight.
template <class V>
void rms_norm_row(const RmsNormRow& row) {
  using F = typename V::F;
  F squares = V::zero();
  for_lanes<V>(row.cols, [&](int64_t i, int64_t lanes) {
    F z = widen_some<V>(row.x + i, lanes);
    if (row.residual != nullptr) {
      z = V::round_bf16(V::add(z, widen_some<V>(row.residual + i, lanes)));
      narrow_some<V>(row.residual + i, z, lanes);
    }
    squares = V::add(squares, V::mul(z, z));
  });
  const float mean = V::fold(squares) / static_cast<float>(row.cols);
  const F rstd = V::set1(1.0F / __builtin_sqrtf(mean + row.epsilon));
  const Bf16* values = row.residual != nullptr ? row.residual : row.x;
  for_lanes<V>(row.cols, [&](int64_t i, int64_t lanes) {
    const F scaled = V::mul(widen_some<V>(values + i, lanes), rstd);
    narrow_some<V>(row.out + i, V::mul(scaled, widen_some<V>(row.weight + i, lanes)), lanes);
  });
}

template <class V>
void rope_row(const RopeRow& row) {
  using F = typename V::F;
  for (int64_t head = 0; head < row.heads; ++head) {
    Bf16* first = row.x + head * row.head_dim;
    Bf16* second = first + row.half;
    for_lanes<V>(row.half, [&](int64_t i, int64_t lanes) {
      const F x1 = widen_some<V>(first + i, lanes);
      const F x2 = widen_some<V>(second + i, lanes);
      const F c = widen_some<V>(row.cos + i, lanes);
      const F s = widen_some<V>(row.sin + i, lanes);
      narrow_some<V>(first + i, V::sub(V::mul(x1, c), V::mul(x2, s)), lanes);
      narrow_some<V>(second + i, V::add(V::mul(x2, c), V::mul(x1, s)), lanes);
    });
  }
}

template <class V>
void combine_row(const CombineRow& row) {
  using F = typename V::F;
  for_lanes<V>(row.cols, [&](int64_t i, int64_t lanes) {
    F sum = V::zero();
    for (int64_t s = 0; s < row.slots; ++s) {
      if (row.expert_ids[s] < 0) continue;
      F value = widen_some<V>(row.rows + s * row.row_stride + i, lanes);
      if (row.weights != nullptr) value = V::mul(V::set1(row.weights[s]), value);
      sum = V::add(sum, value);
    }
    narrow_some<V>(row.out + i, sum, lanes);
  });
}

}  // namespace
}  // namespace moe::providers::cpu
