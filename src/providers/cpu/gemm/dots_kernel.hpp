// The matrix product of BF16 rows, in the order kLanes16: a register tile of kTileRows x kTileCols
// dots, K innermost, 16 lanes each, folded once at the end. For one row of x the tile is
// 1 x kSingleCols. Tile map: w rows outside, x rows inside, so a w tile is read from memory once
// and then from L1; the first pass over a w tile prefetches the next one. Bytes per multiply-add
// from memory: 2 / x_rows. One source for all instruction sets; V is a type of arch/vec_*.hpp.
#pragma once

#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {
namespace {

constexpr int64_t kPairBlock = 32;

// Dots of kRows x kCols rows into out, of which the first `cols` columns count.
template <class V, int kRows, int kCols, bool kPrefetch>
inline void dots_tile(const Bf16* const* x, const Bf16* const* w, const Bf16* const* ahead,
                      const DotsCall& call, float* out, int64_t cols) {
  typename V::F acc[kRows * kCols];
  for (int i = 0; i < kRows * kCols; ++i) acc[i] = V::zero();
  int64_t k = 0;
  for (; k + kPairBlock <= call.k; k += kPairBlock) {
    typename V::Pairs weight[kCols];
    for (int n = 0; n < kCols; ++n) weight[n] = V::load_pairs(w[n] + k);
    for (int m = 0; m < kRows; ++m) {
      const typename V::Pairs input = V::load_pairs(x[m] + k);
      for (int n = 0; n < kCols; ++n) {
        acc[m * kCols + n] = V::dot_add(acc[m * kCols + n], input, weight[n]);
      }
    }
    if constexpr (kPrefetch) {
      for (int n = 0; n < kCols; ++n) __builtin_prefetch(ahead[n] + k, 0, 2);
    }
  }
  if (k < call.k) {
    for (int m = 0; m < kRows; ++m) {
      const typename V::Pairs input = V::load_pairs_n(x[m] + k, call.k - k);
      for (int n = 0; n < kCols; ++n) {
        const typename V::Pairs weight = V::load_pairs_n(w[n] + k, call.k - k);
        acc[m * kCols + n] = V::dot_add(acc[m * kCols + n], input, weight);
      }
    }
  }
  float sums[kRows * kCols];
  V::template fold_all<kRows * kCols>(acc, sums);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kCols; ++n) {
      if (n < cols) out[m * call.out_stride + n] = sums[m * kCols + n];
    }
  }
}

// `rows` is at most kRows.
template <class V, int kRows, int kCols, bool kPrefetch>
inline void dots_rows(int64_t rows, const Bf16* const* x, const Bf16* const* w,
                      const Bf16* const* ahead, const DotsCall& call, float* out, int64_t cols) {
  static_assert(kRows == 1 || kRows == 2 || kRows == 4);
  if constexpr (kRows == 4) {
    if (rows == 4) return dots_tile<V, 4, kCols, kPrefetch>(x, w, ahead, call, out, cols);
    if (rows == 3) return dots_tile<V, 3, kCols, kPrefetch>(x, w, ahead, call, out, cols);
  }
  if constexpr (kRows >= 2) {
    if (rows == 2) return dots_tile<V, 2, kCols, kPrefetch>(x, w, ahead, call, out, cols);
  }
  return dots_tile<V, 1, kCols, kPrefetch>(x, w, ahead, call, out, cols);
}

// How many of `rest` rows the next tile takes: never one row alone if a split avoids it.
template <int kRows>
inline int64_t next_rows(int64_t rest) {
  if (kRows == 4 && (rest == 5 || rest == 6)) return 3;
  return rest < kRows ? rest : kRows;
}

template <class V, int kRows, int kCols>
void dots_columns(const DotsCall& call) {
  for (int64_t n = 0; n < call.w_rows; n += kCols) {
    const int64_t cols = call.w_rows - n < kCols ? call.w_rows - n : kCols;
    // Past the end the last row stands in; its results are dropped.
    const Bf16* w[kCols];
    const Bf16* ahead[kCols];
    for (int64_t i = 0; i < kCols; ++i) {
      const int64_t last = call.w_rows - 1;
      w[i] = call.w[n + i < last ? n + i : last];
      ahead[i] = call.w[n + kCols + i < last ? n + kCols + i : last];
    }
    int64_t m = next_rows<kRows>(call.x_rows);
    dots_rows<V, kRows, kCols, true>(m, call.x, w, ahead, call, call.out + n, cols);
    while (m < call.x_rows) {
      const int64_t rows = next_rows<kRows>(call.x_rows - m);
      dots_rows<V, kRows, kCols, false>(rows, call.x + m, w, ahead, call,
                                        call.out + m * call.out_stride + n, cols);
      m += rows;
    }
  }
}

template <class V>
void dots(const DotsCall& call) {
  if (call.x_rows <= 0) return;
  if (call.x_rows == 1) return dots_columns<V, 1, V::kSingleCols>(call);
  dots_columns<V, V::kTileRows, V::kTileCols>(call);
}

}  // namespace
}  // namespace moe::providers::cpu
