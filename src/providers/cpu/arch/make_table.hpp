// The kernel table of one vector type. Included only by kernels_*.cpp.
#pragma once

#include "providers/cpu/attention/attention_kernel.hpp"
#include "providers/cpu/elementwise/elementwise_kernel.hpp"
#include "providers/cpu/gemm/dots_kernel.hpp"

namespace moe::providers::cpu {
namespace {

template <class V>
constexpr KernelTable make_table() {
  return {.dots = &dots<V>,
          .narrow = &narrow<V>,
          .narrow_scaled = &narrow_scaled<V>,
          .add_bias = &add_bias<V>,
          .silu_mul_f32 = &silu_mul_f32<V>,
          .silu_mul_bf16 = &silu_mul_bf16<V>,
          .scale_add_row = &scale_add_row<V>,
          .rms_norm_row = &rms_norm_row<V>,
          .rope_row = &rope_row<V>,
          .combine_row = &combine_row<V>,
          .attention_tile = &attention_tile<V>,
          .narrow_divided = &narrow_divided<V>};
}

}  // namespace
}  // namespace moe::providers::cpu
