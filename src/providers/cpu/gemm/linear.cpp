#include "providers/cpu/gemm/linear.hpp"

#include <algorithm>

#include "base/checked_math.hpp"
#include "ops/dot.hpp"
#include "ops/validate.hpp"
#include "providers/cpu/gemm/block_gemm.hpp"

namespace moe::providers::cpu {
namespace {

// y[row, col..col+cols) from the dots.
void finish_row(const ops::Linear& op, const KernelTable& kernels, float* dots, int64_t row,
                int64_t col, int64_t cols) {
  if (!op.bias.absent()) kernels.add_bias(dots, op.bias.bf16_row(0) + col, cols);
  if (op.y.dtype == DType::kF32) {
    std::copy_n(dots, cols, op.y.f32_row(row) + col);
  } else {
    kernels.narrow(dots, op.y.bf16_row(row) + col, cols);
  }
}

}  // namespace

Status run_linear(const ops::Linear& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  const int64_t row_blocks = ceil_div(op.x.rows, kRowBlock);
  const int64_t col_blocks = ceil_div(op.w.rows, kColBlock);
  const int64_t work = op.x.rows * op.w.rows * op.w.cols;
  // Row blocks innermost: neighbouring tasks share weight rows while these are in a cache.
  device.for_tasks(row_blocks * col_blocks, work, [&](int64_t task, int64_t) {
    const int64_t row = task % row_blocks * kRowBlock;
    const int64_t col = task / row_blocks * kColBlock;
    const int64_t rows = std::min(kRowBlock, op.x.rows - row);
    const int64_t cols = std::min(kColBlock, op.w.rows - col);
    const Bf16* x[kRowBlock] = {};
    for (int64_t m = 0; m < rows; ++m) x[m] = op.x.bf16_row(row + m);
    DotTile tile;
    block_dots(kernels, x, rows, op.w.bf16_row(col), op.w.row_stride, cols, op.w.cols, tile);
    for (int64_t m = 0; m < rows; ++m) {
      finish_row(op, kernels, tile.row(m), row + m, col, cols);
    }
  });
  return {};
}

Status run_linear_f32(const ops::LinearF32& op, CpuDevice& device) {
  TRY(ops::validate(op));
  device.for_items(op.x.rows * op.w.rows, op.w.cols, [&](int64_t item) {
    const int64_t t = item / op.w.rows;
    const int64_t n = item % op.w.rows;
    op.y.f32_row(t)[n] = ops::dot32(op.x.bf16_row(t), op.w.f32_row(n), op.w.cols);
  });
  return {};
}

}  // namespace moe::providers::cpu
