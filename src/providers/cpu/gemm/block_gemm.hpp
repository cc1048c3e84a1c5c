// How the matrix products of this provider are cut into tasks: a block of input rows times a block
// of weight rows, whose FP32 dots land in a small tile that the caller then rounds. The cut has no
// influence on the bits. Any thread.
#pragma once

#include <cstdint>

#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {

// 64 rows of 2048 values are 256 KiB, which stay in L2 while weight rows pass; 32 weight rows of
// that length are 128 KiB, some ten microseconds of memory bandwidth: much more than handing out a
// task costs.
constexpr int64_t kRowBlock = 64;
constexpr int64_t kColBlock = 48;

// The dots of one task; row m of the block at values + m * kColBlock. Lives on the stack (8 KiB).
struct DotTile {
  alignas(64) float values[kRowBlock * kColBlock];
  float* row(int64_t m) { return values + m * kColBlock; }
};

// Dots of x[0..rows) with `cols` weight rows from `w`, each k long. rows <= kRowBlock and cols <=
// kColBlock.
void block_dots(const KernelTable& kernels, const Bf16* const* x, int64_t rows, const Bf16* w,
                int64_t w_stride, int64_t cols, int64_t k, DotTile& tile);

}  // namespace moe::providers::cpu
