// One step of the running softmax for one query row and head: 16 keys, whose dots the caller made
// with the dots kernel. Phases: scores and their maximum, rescale, exponentials, values. Per value
// row and 16 columns: one load, one multiply, one add (not fused: the bits of the reference also
// for subnormal products). One source for all instruction sets.
#pragma once

#include "providers/cpu/elementwise/elementwise_kernel.hpp"

namespace moe::providers::cpu {
namespace {

constexpr int kTileKeys = 16;

// acc[0, kVectors * 16) = acc * alpha + sum over keys of p * value, keys in ascending order.
template <class V, int kVectors>
inline void add_values(const AttentionTile& tile, const float* p, float alpha, int64_t column) {
  typename V::F acc[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    acc[i] = V::mul(V::load(tile.acc + column + i * V::kLanes), V::set1(alpha));
  }
  for (int64_t j = 0; j < tile.count; ++j) {
    const typename V::F weight = V::set1(p[j]);
    const Bf16* value = tile.values[j] + column;
    for (int i = 0; i < kVectors; ++i) {
      acc[i] = V::add(acc[i], V::mul(weight, V::widen(value + i * V::kLanes)));
    }
  }
  for (int i = 0; i < kVectors; ++i) V::store(tile.acc + column + i * V::kLanes, acc[i]);
}

template <class V>
inline void add_values_tail(const AttentionTile& tile, const float* p, float alpha,
                            int64_t column) {
  const int64_t lanes = tile.value_dim - column;
  typename V::F acc = V::mul(V::load_n(tile.acc + column, lanes), V::set1(alpha));
  for (int64_t j = 0; j < tile.count; ++j) {
    const typename V::F value = V::widen_n(tile.values[j] + column, lanes);
    acc = V::add(acc, V::mul(V::set1(p[j]), value));
  }
  V::store_n(tile.acc + column, acc, lanes);
}

template <class V>
void attention_tile(const AttentionTile& tile) {
  using F = typename V::F;
  constexpr float kMinusInfinity = -__builtin_inff();
  const F scores = V::mul(V::load_n(tile.scores, tile.count), V::set1(tile.scale));
  // A NaN score loses against -inf here and reaches the sum below instead.
  float masked[kTileKeys];
  V::store(masked, V::set1(kMinusInfinity));
  V::store_n(masked, V::max(scores, V::set1(kMinusInfinity)), tile.count);
  const float tile_max = V::reduce_max(V::load(masked));
  SoftmaxState& state = *tile.state;
  const float max = tile_max > state.max ? tile_max : state.max;
  // With nothing above -inf yet, subtracting the maximum would make NaN of (-inf) - (-inf).
  const float base = max == kMinusInfinity ? 0.0F : max;

  float alpha = 1.0F;  // e^0, and what is zero or NaN already stays so
  if (max != state.max) {
    float powers[kTileKeys];
    V::store(powers, exp_lanes<V>(V::set1(state.max - base)));
    alpha = powers[0];
  }
  const F exponentials = exp_lanes<V>(V::sub(scores, V::set1(base)));
  float p[kTileKeys];
  V::store(p, exponentials);
  float sum = state.sum * alpha;
  for (int64_t j = 0; j < tile.count; ++j) sum += p[j];
  V::store(p, V::round_bf16(exponentials));

  int64_t column = 0;
  for (; column + 4 * V::kLanes <= tile.value_dim; column += 4 * V::kLanes) {
    add_values<V, 4>(tile, p, alpha, column);
  }
  for (; column + V::kLanes <= tile.value_dim; column += V::kLanes) {
    add_values<V, 1>(tile, p, alpha, column);
  }
  if (column < tile.value_dim) add_values_tail<V>(tile, p, alpha, column);
  state.max = max;
  state.sum = sum;
}

}  // namespace
}  // namespace moe::providers::cpu
