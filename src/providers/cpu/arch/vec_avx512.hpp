// Sixteen FP32 lanes in one zmm register (AVX-512 F, BW, VL, DQ), and its BF16 extension. The
// interface is that of vec_portable.hpp. Included only by files compiled for these sets.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe::providers::cpu {
namespace {

struct VecAvx512 {
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 4;
  static constexpr int kTileCols = 4;
  static constexpr int kSingleCols = 8;
  static constexpr int kParts = 1;

  using F = __m512;
  using I = __m512i;
  using Part = F;
  struct Pairs {
    F odd;
    F even;
  };

  static __mmask16 first(int64_t count) {
    return static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U);
  }
  static F widen_half(__m256i values) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
  }
  // BF16 bits in the upper halves of the dwords; the lower halves are whatever rounding left.
  static I rounded(F a) {
    const I bits = _mm512_castps_si512(a);
    const I odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const I up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  }

  static F set1(float value) { return _mm512_set1_ps(value); }
  static F zero() { return _mm512_setzero_ps(); }
  static F load(const float* src) { return _mm512_loadu_ps(src); }
  static F load_n(const float* src, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), src);
  }
  static void store(float* dst, F a) { _mm512_storeu_ps(dst, a); }
  static void store_n(float* dst, F a, int64_t count) {
    _mm512_mask_storeu_ps(dst, first(count), a);
  }
  static F widen(const Bf16* src) {
    return widen_half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)));
  }
  static F widen_n(const Bf16* src, int64_t count) {
    return widen_half(_mm256_maskz_loadu_epi16(first(count), src));
  }
  static void narrow(Bf16* dst, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(a), 16)));
  }
  static void narrow_n(Bf16* dst, F a, int64_t count) {
    _mm256_mask_storeu_epi16(dst, first(count),
                             _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(a), 16)));
  }
  static F round_bf16(F a) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(rounded(a), _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F nan_or(F x, F other) {
    return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
  }
  static float reduce_max(F a) { return _mm512_reduce_max_ps(a); }

  static I to_int(F a) { return _mm512_cvttps_epi32(a); }
  static I half(I a) { return _mm512_srai_epi32(a, 1); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static F pow2(I a) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(a, _mm512_set1_epi32(127)), 23));
  }

  static Pairs split(I dwords) {
    return {_mm512_castsi512_ps(
                _mm512_and_si512(dwords, _mm512_set1_epi32(static_cast<int>(0xffff0000U)))),
            _mm512_castsi512_ps(_mm512_slli_epi32(dwords, 16))};
  }
  static I load_32(const Bf16* src) { return _mm512_loadu_si512(src); }
  static I load_32_n(const Bf16* src, int64_t count) {
    return _mm512_maskz_loadu_epi16((1U << static_cast<unsigned>(count)) - 1U, src);
  }
  static Part zero_part() { return zero(); }
  template <int kPart>
  static Pairs load_pairs(const Bf16* src) {
    return split(load_32(src));
  }
  template <int kPart>
  static Pairs load_pairs_n(const Bf16* src, int64_t count) {
    return split(load_32_n(src, count));
  }
  static F join(const Part (&parts)[kParts]) { return parts[0]; }
  static F dot_add(F acc, const Pairs& x, const Pairs& w) {
    acc = _mm512_fmadd_ps(x.odd, w.odd, acc);
    return _mm512_fmadd_ps(x.even, w.even, acc);
  }

  // The four steps of the fold, each on two vectors at once (which halves the number of adds):
  // lane j plus lane j + 8, + 4, + 2, + 1 of both.
  static F fold_8(F a, F b) {
    return add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  static F fold_4(F a, F b) {
    return add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  static F fold_2(F a, F b) {
    return add(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
  }
  static F fold_1(F a, F b) {
    return add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
  }
  // Sums of (v[0], v[1], v[2], v[3]) after two steps, four lanes each.
  static F fold_four(F a, F b, F c, F d) { return fold_4(fold_8(a, b), fold_8(c, d)); }

  static float fold(F a) {
    const F narrow = fold_four(a, a, a, a);
    return _mm512_cvtss_f32(fold_1(fold_2(narrow, narrow), fold_2(narrow, narrow)));
  }
  // Sixteen folds at once. Lane 4 * i + p of the last step holds what went in as number 4 * p + i.
  static F fold_sixteen(const F (&in)[kLanes]) {
    const F low =
        fold_2(fold_four(in[0], in[1], in[2], in[3]), fold_four(in[4], in[5], in[6], in[7]));
    const F high =
        fold_2(fold_four(in[8], in[9], in[10], in[11]), fold_four(in[12], in[13], in[14], in[15]));
    return fold_1(low, high);
  }
  template <int kCount>
  static void fold_all(const F (&acc)[kCount], float (&out)[kCount]) {
#pragma GCC unroll 2
    for (int begin = 0; begin < kCount; begin += kLanes) {
      F in[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        in[4 * (i % 4) + i / 4] = acc[begin + i < kCount ? begin + i : begin];
      }
      const int count = kCount - begin < kLanes ? kCount - begin : kLanes;
      store_n(out + begin, fold_sixteen(in), count);
    }
  }
};

#if defined(__AVX512BF16__)
// vdpbf16ps adds the product of the odd elements, then that of the even ones, each rounded to
// nearest even: the order of kLanes16. It flushes subnormal inputs and results to zero.
struct VecAvx512Bf16 : VecAvx512 {
  // One register a weight row leaves room for 4 x 6 accumulators.
  static constexpr int kTileCols = 6;
  using Pairs = __m512bh;

  template <int kPart>
  static Pairs load_pairs(const Bf16* src) {
    return reinterpret_cast<Pairs>(load_32(src));
  }
  template <int kPart>
  static Pairs load_pairs_n(const Bf16* src, int64_t count) {
    return reinterpret_cast<Pairs>(load_32_n(src, count));
  }
  static F dot_add(F acc, Pairs x, Pairs w) { return _mm512_dpbf16_ps(acc, x, w); }
};
#endif

}  // namespace
}  // namespace moe::providers::cpu
