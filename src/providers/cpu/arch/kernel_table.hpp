// The leaf kernels of one instruction set as plain function pointers over plain pointers. Each
// table is filled in a file of its own that is compiled with that set's flags
// (kernels_<isa>.cpp); everything above runs on any processor and calls through a table. Kernels
// take no lock, allocate nothing, start no thread. All tables give equal bits (docs/numerics.md).
#pragma once

#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe::providers::cpu {

// out[m * out_stride + n] = dot32(x[m], w[n]) for m < x_rows, n < w_rows. Rows are k long and may
// lie anywhere.
struct DotsCall {
  const Bf16* const* x = nullptr;
  int64_t x_rows = 0;
  const Bf16* const* w = nullptr;
  int64_t w_rows = 0;
  int64_t k = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

struct RmsNormRow {
  const Bf16* x = nullptr;
  Bf16* residual = nullptr;  // null = none
  const Bf16* weight = nullptr;
  float epsilon = 0;
  int64_t cols = 0;
  Bf16* out = nullptr;
};

// `heads` heads of one token, halves rotated against each other (not interleaved).
struct RopeRow {
  Bf16* x = nullptr;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t half = 0;           // rotary_dim / 2
  const Bf16* cos = nullptr;  // [half]
  const Bf16* sin = nullptr;  // [half]
};

// out = b(sum over s of weights[s] * rows[s]); a null row is skipped, null weights are left out.
struct CombineRow {
  const Bf16* rows = nullptr;  // [slots, row_stride]
  int64_t row_stride = 0;
  const int32_t* expert_ids = nullptr;  // [slots], -1 skips
  const float* weights = nullptr;       // [slots] or null
  int64_t slots = 0;
  int64_t cols = 0;
  Bf16* out = nullptr;
};

// The running softmax of one query row and head. `acc` is [value_dim].
struct SoftmaxState {
  float max;
  float sum;
};

// One step of the running softmax: up to 16 keys of one tile.
struct AttentionTile {
  SoftmaxState* state = nullptr;
  float* acc = nullptr;
  const float* scores = nullptr;  // [count], unscaled dots
  float scale = 0;
  int64_t count = 0;
  const Bf16* const* values = nullptr;  // [count] rows
  int64_t value_dim = 0;
};

// out = b(x * scale), then + addend unless that is null.
struct ScaleAddRow {
  const Bf16* x = nullptr;
  float scale = 1;
  const Bf16* addend = nullptr;
  int64_t cols = 0;
  Bf16* out = nullptr;
};

struct KernelTable {
  void (*dots)(const DotsCall&);
  // dst = b(src)
  void (*narrow)(const float* src, Bf16* dst, int64_t count);
  // dst = b(src * factor)
  void (*narrow_scaled)(const float* src, float factor, Bf16* dst, int64_t count);
  // acc += f(bias)
  void (*add_bias)(float* acc, const Bf16* bias, int64_t count);
  // dst = b(silu(gate) * up)
  void (*silu_mul_f32)(const float* gate, const float* up, Bf16* dst, int64_t count);
  // dst = b(b(silu(gate)) * up)
  void (*silu_mul_bf16)(const Bf16* gate, const Bf16* up, Bf16* dst, int64_t count);
  void (*scale_add_row)(const ScaleAddRow&);
  void (*rms_norm_row)(const RmsNormRow&);
  void (*rope_row)(const RopeRow&);
  void (*combine_row)(const CombineRow&);
  void (*attention_tile)(const AttentionTile&);
  // dst = b(acc / sum)
  void (*narrow_divided)(const float* acc, float sum, Bf16* dst, int64_t count);
};

// A table whose pointers are null belongs to a set that this build has no kernels for.
extern const KernelTable kPortableKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;

}  // namespace moe::providers::cpu
