#include "providers/cpu/gemm/block_gemm.hpp"

namespace moe::providers::cpu {

void block_dots(const KernelTable& kernels, const Bf16* const* x, int64_t rows, const Bf16* w,
                int64_t w_stride, int64_t cols, int64_t k, DotTile& tile) {
  const Bf16* weights[kColBlock] = {};
  for (int64_t n = 0; n < cols; ++n) weights[n] = w + n * w_stride;
  kernels.dots({.x = x,
                .x_rows = rows,
                .w = weights,
                .w_rows = cols,
                .k = k,
                .out = tile.values,
                .out_stride = kColBlock});
}

}  // namespace moe::providers::cpu
