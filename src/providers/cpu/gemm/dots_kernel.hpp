// The matrix product of BF16 rows, in the order kLanes16: a register tile of kTileRows x kTileCols
// dots, K innermost, 16 lanes each, folded once at the end. For one row of x the tile is
// 1 x kSingleCols. Tile map: w rows outside, x rows inside, so a w tile is read from memory once,
// with prefetch, and then from L1. Memory traffic: 2 / x_rows bytes per multiply-add. Measured on
// Zen 5: 90 % of a core's read bandwidth for one row, 70 % of its vdpbf16ps rate for 48 x 48 x
// 2048. Fused and unfused multiply-adds agree as long as a product is a normal FP32 number. One
// source for all instruction sets; V is a type of arch/vec_*.hpp.
#pragma once

#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {
namespace {

constexpr int64_t kPairBlock = 32;
constexpr int64_t kNarrow = 16;
// In a weight row, from the values in use. Measured best among 0 to 2 KiB on a Zen 5 server.
constexpr int64_t kPrefetchBytes = 1024;

// A fetch that may lie past the end of a row, where it hits the next one or nothing.
inline void prefetch_ahead(const Bf16* values) {
  __builtin_prefetch(reinterpret_cast<const char*>(values) + kPrefetchBytes);
}

// The lanes of one part, over all of K. All loops over the tile are unrolled, so that the
// accumulators stay in registers.
template <class V, int kPart, int kRows, int kCols, bool kPrefetch>
inline void dots_part(const Bf16* const* x, const Bf16* const* w, int64_t length,
                      typename V::Part (&sums)[kRows * kCols]) {
  typename V::Part acc[kRows * kCols];
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kCols; ++i) acc[i] = V::zero_part();
  int64_t k = 0;
  for (; k + kPairBlock <= length; k += kPairBlock) {
    typename V::Pairs input[kRows];
#pragma GCC unroll 4
    for (int m = 0; m < kRows; ++m) input[m] = V::template load_pairs<kPart>(x[m] + k);
#pragma GCC unroll 8
    for (int n = 0; n < kCols; ++n) {
      const typename V::Pairs weight = V::template load_pairs<kPart>(w[n] + k);
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) {
        acc[m * kCols + n] = V::dot_add(acc[m * kCols + n], input[m], weight);
      }
    }
    if constexpr (kPrefetch) {
#pragma GCC unroll 8
      for (int n = 0; n < kCols; ++n) prefetch_ahead(w[n] + k);
    }
  }
  if (k < length) {
#pragma GCC unroll 4
    for (int m = 0; m < kRows; ++m) {
      const typename V::Pairs input = V::template load_pairs_n<kPart>(x[m] + k, length - k);
#pragma GCC unroll 8
      for (int n = 0; n < kCols; ++n) {
        const typename V::Pairs weight = V::template load_pairs_n<kPart>(w[n] + k, length - k);
        acc[m * kCols + n] = V::dot_add(acc[m * kCols + n], input, weight);
      }
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kCols; ++i) sums[i] = acc[i];
}

// Parts kPart and up.
template <class V, int kPart, int kRows, int kCols, bool kPrefetch>
inline void dots_parts(const Bf16* const* x, const Bf16* const* w, int64_t length,
                       typename V::Part (&parts)[V::kParts][kRows * kCols]) {
  dots_part<V, kPart, kRows, kCols, kPrefetch && kPart == 0>(x, w, length, parts[kPart]);
  if constexpr (kPart + 1 < V::kParts) {
    dots_parts<V, kPart + 1, kRows, kCols, kPrefetch>(x, w, length, parts);
  }
}

// Dots of kRows x kCols rows into out, of which the first `cols` columns count.
template <class V, int kRows, int kCols, bool kPrefetch>
inline void dots_tile(const Bf16* const* x, const Bf16* const* w, const DotsCall& call, float* out,
                      int64_t cols) {
  typename V::Part parts[V::kParts][kRows * kCols];
  dots_parts<V, 0, kRows, kCols, kPrefetch>(x, w, call.k, parts);
  typename V::F lanes[kRows * kCols];
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kCols; ++i) {
    typename V::Part all[V::kParts];
    for (int part = 0; part < V::kParts; ++part) all[part] = parts[part][i];
    lanes[i] = V::join(all);
  }
  float sums[kRows * kCols];
  V::template fold_all<kRows * kCols>(lanes, sums);
  for (int m = 0; m < kRows; ++m) {
    float* row = out + m * call.out_stride;
    if (cols == kCols) {
      for (int n = 0; n < kCols; ++n) row[n] = sums[m * kCols + n];
    } else {
      for (int n = 0; n < cols; ++n) row[n] = sums[m * kCols + n];
    }
  }
}

// `rows` is at most kRows.
template <class V, int kRows, int kCols, bool kPrefetch>
inline void dots_rows(int64_t rows, const Bf16* const* x, const Bf16* const* w,
                      const DotsCall& call, float* out, int64_t cols) {
  static_assert(kRows == 1 || kRows == 2 || kRows == 4);
  if constexpr (kRows == 4) {
    if (rows == 4) return dots_tile<V, 4, kCols, kPrefetch>(x, w, call, out, cols);
    if (rows == 3) return dots_tile<V, 3, kCols, kPrefetch>(x, w, call, out, cols);
  }
  if constexpr (kRows >= 2) {
    if (rows == 2) return dots_tile<V, 2, kCols, kPrefetch>(x, w, call, out, cols);
  }
  return dots_tile<V, 1, kCols, kPrefetch>(x, w, call, out, cols);
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
    for (int64_t i = 0; i < kCols; ++i) {
      const int64_t last = call.w_rows - 1;
      w[i] = call.w[n + i < last ? n + i : last];
    }
    int64_t m = next_rows<kRows>(call.x_rows);
    dots_rows<V, kRows, kCols, true>(m, call.x, w, call, call.out + n, cols);
    while (m < call.x_rows) {
      const int64_t rows = next_rows<kRows>(call.x_rows - m);
      dots_rows<V, kRows, kCols, false>(rows, call.x + m, w, call,
                                        call.out + m * call.out_stride + n, cols);
      m += rows;
    }
  }
}

template <class V>
void dots(const DotsCall& call) {
  if (call.x_rows <= 0) return;
  if (call.x_rows == 1) return dots_columns<V, 1, V::kSingleCols>(call);
  // A tile of attention keys is 16 wide: four columns leave no remainder.
  if (call.w_rows <= kNarrow) return dots_columns<V, V::kTileRows, 4>(call);
  dots_columns<V, V::kTileRows, V::kTileCols>(call);
}

}  // namespace
}  // namespace moe::providers::cpu
