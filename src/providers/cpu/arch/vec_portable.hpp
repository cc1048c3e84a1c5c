// Sixteen FP32 lanes as an array: the scalar form of the vector interface that the kernel headers
// are written against. The other vec_*.hpp give the same bits. Included only by kernels_*.cpp;
// everything here has internal linkage, so that no copy compiled for one instruction set can be
// linked into code for another.
#pragma once

#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe::providers::cpu {
namespace {

// A dword holds two BF16 values, the even one in its lower half.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

struct VecPortable {
  static constexpr int kLanes = 16;
  // Rows of x and of w in one register tile of the dots kernel; w rows when x has one row.
  static constexpr int kTileRows = 2;
  static constexpr int kTileCols = 4;
  static constexpr int kSingleCols = 4;
  // The dots run over K so many times, each time for the lanes that registers can hold: four of a
  // baseline processor.
  static constexpr int kParts = 4;
  static constexpr int kPartLanes = kLanes / kParts;

  struct F {
    float lane[kLanes];
  };
  struct I {
    int32_t lane[kLanes];
  };
  // The lanes of one part, in the vector extension that both compilers have for any processor.
  typedef float Part __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(16)));
  // 32 neighbouring BF16 values, or one part of them: lane j of `even` is value 2j, of `odd` value
  // 2j + 1.
  struct Pairs {
    Part odd;
    Part even;
  };

  template <class Function>
  static F make(Function function) {
    F result;
    for (int j = 0; j < kLanes; ++j) result.lane[j] = function(j);
    return result;
  }
  static float widen_bits(uint32_t bits) { return __builtin_bit_cast(float, bits << 16); }
  static uint32_t narrow_bits(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    return value == value ? rounded : (bits | 0x400000U) >> 16;
  }

  static F set1(float value) {
    return make([=](int) { return value; });
  }
  static F zero() { return set1(0.0F); }
  static F load(const float* src) {
    return make([=](int j) { return src[j]; });
  }
  static F load_n(const float* src, int64_t count) {
    return make([=](int j) { return j < count ? src[j] : 0.0F; });
  }
  static void store(float* dst, F a) { store_n(dst, a, kLanes); }
  static void store_n(float* dst, F a, int64_t count) {
    for (int j = 0; j < kLanes; ++j) {
      if (j < count) dst[j] = a.lane[j];
    }
  }
  static F widen(const Bf16* src) {
    return make([=](int j) { return widen_bits(src[j].bits); });
  }
  static F widen_n(const Bf16* src, int64_t count) {
    return make([=](int j) { return j < count ? widen_bits(src[j].bits) : 0.0F; });
  }
  static void narrow(Bf16* dst, F a) { narrow_n(dst, a, kLanes); }
  static void narrow_n(Bf16* dst, F a, int64_t count) {
    for (int j = 0; j < kLanes; ++j) {
      if (j < count) dst[j].bits = static_cast<uint16_t>(narrow_bits(a.lane[j]));
    }
  }
  static F round_bf16(F a) {
    return make([&](int j) { return widen_bits(narrow_bits(a.lane[j])); });
  }

  static F add(F a, F b) {
    return make([&](int j) { return a.lane[j] + b.lane[j]; });
  }
  static F sub(F a, F b) {
    return make([&](int j) { return a.lane[j] - b.lane[j]; });
  }
  static F mul(F a, F b) {
    return make([&](int j) { return a.lane[j] * b.lane[j]; });
  }
  static F div(F a, F b) {
    return make([&](int j) { return a.lane[j] / b.lane[j]; });
  }
  // a < b ? a : b, so b when either is NaN; likewise max.
  static F min(F a, F b) {
    return make([&](int j) { return a.lane[j] < b.lane[j] ? a.lane[j] : b.lane[j]; });
  }
  static F max(F a, F b) {
    return make([&](int j) { return a.lane[j] > b.lane[j] ? a.lane[j] : b.lane[j]; });
  }
  // x where it is NaN, `other` elsewhere.
  static F nan_or(F x, F other) {
    return make([&](int j) { return x.lane[j] == x.lane[j] ? other.lane[j] : x.lane[j]; });
  }
  // Of lanes without NaN.
  static float reduce_max(F a) {
    float most = a.lane[0];
    for (int j = 1; j < kLanes; ++j) most = a.lane[j] > most ? a.lane[j] : most;
    return most;
  }

  // Of integers in range.
  static I to_int(F a) {
    I result;
    for (int j = 0; j < kLanes; ++j) result.lane[j] = static_cast<int32_t>(a.lane[j]);
    return result;
  }
  static I half(I a) {
    for (int32_t& lane : a.lane) lane >>= 1;
    return a;
  }
  static I sub(I a, I b) {
    for (int j = 0; j < kLanes; ++j) a.lane[j] -= b.lane[j];
    return a;
  }
  // 2^a for a in [-126, 127].
  static F pow2(I a) {
    return make([&](int j) {
      return __builtin_bit_cast(float, static_cast<uint32_t>(a.lane[j] + 127) << 23);
    });
  }

  static Part zero_part() { return Part{}; }
  static Pairs split(Words words) {
    return {reinterpret_cast<Part>(words & 0xffff0000U), reinterpret_cast<Part>(words << 16)};
  }
  template <int kPart>
  static Pairs load_pairs(const Bf16* src) {
    Words words;
    __builtin_memcpy(&words, src + 2 * kPart * kPartLanes, sizeof words);
    return split(words);
  }
  // The first `count` of the 32 values; the others are zero.
  template <int kPart>
  static Pairs load_pairs_n(const Bf16* src, int64_t count) {
    uint16_t all[2 * kLanes] = {};
    for (int64_t j = 0; j < count; ++j) all[j] = src[j].bits;
    Words words;
    __builtin_memcpy(&words, all + 2 * kPart * kPartLanes, sizeof words);
    return split(words);
  }
  static Part dot_add(Part acc, const Pairs& x, const Pairs& w) {
    acc += x.odd * w.odd;
    return acc + x.even * w.even;
  }
  static F join(const Part (&parts)[kParts]) {
    return make([&](int j) { return parts[j / kPartLanes][j % kPartLanes]; });
  }

  // 16 -> 8 -> 4 -> 2 -> 1, lane j plus lane j + half.
  static float fold(F a) {
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) a.lane[j] += a.lane[j + width];
    }
    return a.lane[0];
  }
  template <int kCount>
  static void fold_all(const F (&acc)[kCount], float (&out)[kCount]) {
    for (int i = 0; i < kCount; ++i) out[i] = fold(acc[i]);
  }
};

}  // namespace
}  // namespace moe::providers::cpu
