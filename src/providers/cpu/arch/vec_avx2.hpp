// Sixteen FP32 lanes in two ymm registers (AVX2 and FMA). The interface is that of
// vec_portable.hpp. Included only by files compiled for these sets.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe::providers::cpu {
namespace {

struct VecAvx2 {
  static constexpr int kLanes = 16;
  // With sixteen registers the dots run over K twice, for eight lanes each time.
  static constexpr int kTileRows = 2;
  static constexpr int kTileCols = 4;
  static constexpr int kSingleCols = 8;
  static constexpr int kParts = 2;

  struct F {
    __m256 low;   // lanes 0 to 7
    __m256 high;  // lanes 8 to 15
  };
  struct I {
    __m256i low;
    __m256i high;
  };
  using Part = __m256;
  struct Pairs {
    Part odd;
    Part even;
  };

  static __m256i upper_mask() { return _mm256_set1_epi32(static_cast<int>(0xffff0000U)); }
  static __m256 widen_half(const Bf16* src) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(values), 16));
  }
  // BF16 bits in the upper halves of the dwords; the lower halves are whatever rounding left.
  static __m256i rounded(__m256 a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(up, quiet, nan);
  }

  static F set1(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F load(const float* src) { return {_mm256_loadu_ps(src), _mm256_loadu_ps(src + 8)}; }
  static F load_n(const float* src, int64_t count) {
    float all[kLanes] = {};
    for (int64_t j = 0; j < count; ++j) all[j] = src[j];
    return load(all);
  }
  static void store(float* dst, F a) {
    _mm256_storeu_ps(dst, a.low);
    _mm256_storeu_ps(dst + 8, a.high);
  }
  static void store_n(float* dst, F a, int64_t count) {
    float all[kLanes];
    store(all, a);
    for (int64_t j = 0; j < count; ++j) dst[j] = all[j];
  }
  static F widen(const Bf16* src) { return {widen_half(src), widen_half(src + 8)}; }
  static F widen_n(const Bf16* src, int64_t count) {
    uint32_t all[kLanes] = {};
    for (int64_t j = 0; j < count; ++j) all[j] = static_cast<uint32_t>(src[j].bits) << 16;
    return load(reinterpret_cast<const float*>(all));
  }
  static __m256i narrowed(F a) {
    const __m256i low = _mm256_srli_epi32(rounded(a.low), 16);
    const __m256i high = _mm256_srli_epi32(rounded(a.high), 16);
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  }
  static void narrow(Bf16* dst, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), narrowed(a));
  }
  static void narrow_n(Bf16* dst, F a, int64_t count) {
    uint16_t all[kLanes];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(all), narrowed(a));
    for (int64_t j = 0; j < count; ++j) dst[j].bits = all[j];
  }
  static F round_bf16(F a) {
    return {_mm256_castsi256_ps(_mm256_and_si256(rounded(a.low), upper_mask())),
            _mm256_castsi256_ps(_mm256_and_si256(rounded(a.high), upper_mask()))};
  }

  static F add(F a, F b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  static F sub(F a, F b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  static F max(F a, F b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  static F nan_or(F x, F other) {
    return {_mm256_blendv_ps(other.low, x.low, _mm256_cmp_ps(x.low, x.low, _CMP_UNORD_Q)),
            _mm256_blendv_ps(other.high, x.high, _mm256_cmp_ps(x.high, x.high, _CMP_UNORD_Q))};
  }
  static float reduce_max(F a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }

  static I to_int(F a) { return {_mm256_cvttps_epi32(a.low), _mm256_cvttps_epi32(a.high)}; }
  static I half(I a) { return {_mm256_srai_epi32(a.low, 1), _mm256_srai_epi32(a.high, 1)}; }
  static I sub(I a, I b) {
    return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
  }
  static __m256 pow2_half(__m256i a) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(a, _mm256_set1_epi32(127)), 23));
  }
  static F pow2(I a) { return {pow2_half(a.low), pow2_half(a.high)}; }

  static Pairs split(__m256i dwords) {
    return {_mm256_castsi256_ps(_mm256_and_si256(dwords, upper_mask())),
            _mm256_castsi256_ps(_mm256_slli_epi32(dwords, 16))};
  }
  static Part zero_part() { return _mm256_setzero_ps(); }
  template <int kPart>
  static Pairs load_pairs(const Bf16* src) {
    return split(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src) + kPart));
  }
  template <int kPart>
  static Pairs load_pairs_n(const Bf16* src, int64_t count) {
    alignas(32) uint16_t all[2 * kLanes] = {};
    for (int64_t j = 0; j < count; ++j) all[j] = src[j].bits;
    return split(_mm256_load_si256(reinterpret_cast<const __m256i*>(all) + kPart));
  }
  static Part dot_add(Part acc, const Pairs& x, const Pairs& w) {
    acc = _mm256_fmadd_ps(x.odd, w.odd, acc);
    return _mm256_fmadd_ps(x.even, w.even, acc);
  }
  static F join(const Part (&parts)[kParts]) { return {parts[0], parts[1]}; }

  // Four folds at once: each step works on two vectors.
  static __m128 fold_four(const F& a, const F& b, const F& c, const F& d) {
    const __m256 a8 = _mm256_add_ps(a.low, a.high);
    const __m256 b8 = _mm256_add_ps(b.low, b.high);
    const __m256 c8 = _mm256_add_ps(c.low, c.high);
    const __m256 d8 = _mm256_add_ps(d.low, d.high);
    const __m256 ac =
        _mm256_add_ps(_mm256_permute2f128_ps(a8, c8, 0x20), _mm256_permute2f128_ps(a8, c8, 0x31));
    const __m256 bd =
        _mm256_add_ps(_mm256_permute2f128_ps(b8, d8, 0x20), _mm256_permute2f128_ps(b8, d8, 0x31));
    // Lanes of 128 bits: (a a b b) and (c c d d).
    const __m256 two =
        _mm256_add_ps(_mm256_shuffle_ps(ac, bd, 0x44), _mm256_shuffle_ps(ac, bd, 0xee));
    const __m128 ab = _mm256_castps256_ps128(two);
    const __m128 cd = _mm256_extractf128_ps(two, 1);
    return _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xdd));
  }
  static float fold(const F& a) { return _mm_cvtss_f32(fold_four(a, a, a, a)); }
  template <int kCount>
  static void fold_all(const F (&acc)[kCount], float (&out)[kCount]) {
    int i = 0;
    for (; i + 4 <= kCount; i += 4) {
      _mm_storeu_ps(out + i, fold_four(acc[i], acc[i + 1], acc[i + 2], acc[i + 3]));
    }
    for (; i < kCount; ++i) out[i] = fold(acc[i]);
  }
};

}  // namespace
}  // namespace moe::providers::cpu
