// Matrix products with the matrix instructions of gfx11: LDS tiles, double buffering, SiLU with an
// IEEE division, d16 stores, predicated rows.
#include "prelude.hip.inc"

DEV vec<float, 8> wmma(vec<short, 16> a, vec<short, 16> b, vec<float, 8> c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c);
}

DEV float silu(float x) { return x / (1.0f + __builtin_expf(-x)); }

KERNEL BLOCK(128) gate_up(const uint16* x, const uint16* w, const int* rows, uint16* out, int row_count,
                          int depth, int width) {
  SHARED static uint16 a_tile[2][32 * 40];
  SHARED static uint16 b_tile[2][64 * 40];
  const int t = thread_x();
  const int wave = t / 32, lane = t & 31;
  const int row = min(rows[min(block_x() * 32 + t / 4, row_count - 1)], row_count - 1);
  vec<float, 8> gate[2] = {}, up[2] = {};
  const GLB vec<uint16, 8>* source = (const GLB vec<uint16, 8>*)(x + uint64(row) * depth + t % 4 * 8);
  const GLB vec<uint16, 8>* weight =
      (const GLB vec<uint16, 8>*)(w + uint64(block_y() * 64 + t / 2) * depth + t % 2 * 16);
  int buffer = 0;
  *(vec<uint16, 8>*)&a_tile[0][t / 4 * 40 + t % 4 * 8] = source[0];
  *(vec<uint16, 8>*)&b_tile[0][t / 2 * 40 + t % 2 * 16] = weight[0];
  for (int k = 32; k < depth; k += 32) {
    vec<uint16, 8> next_a = source[k / 8];
    vec<uint16, 8> next_b = weight[k / 8];
    barrier();
    for (int half = 0; half < 2; ++half) {
      vec<short, 16> a = *(vec<short, 16>*)&a_tile[buffer][(lane & 15) * 40 + half * 16];
      vec<short, 16> b = *(vec<short, 16>*)&b_tile[buffer][(wave * 16 + (lane & 15)) * 40 + half * 16];
      vec<short, 16> c = *(vec<short, 16>*)&b_tile[buffer][((lane & 15)) * 40 + half * 16];
      gate[half] = wmma(a, b, gate[half]);
      up[half] = wmma(a, c, up[half]);
    }
    buffer ^= 1;
    *(vec<uint16, 8>*)&a_tile[buffer][t / 4 * 40 + t % 4 * 8] = next_a;
    *(vec<uint16, 8>*)&b_tile[buffer][t / 2 * 40 + t % 2 * 16] = next_b;
  }
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 8; ++i) {
      const int r = block_x() * 32 + half * 16 + i * 2 + lane / 16;
      if (r < row_count) {
        const float g = bf16_to_float(float_to_bf16(gate[half][i]));
        const float u = bf16_to_float(float_to_bf16(up[half][i]));
        out[uint64(r) * width + block_y() * 16 + (lane & 15)] =
            float_to_bf16(bf16_to_float(float_to_bf16(silu(g))) * u);
      }
    }
  }
}

KERNEL BLOCK(32) other_matrix_types(const vec<short, 16>* bf, const vec<_Float16, 16>* hf,
                                    const vec<int, 4>* bytes, vec<float, 8>* out, vec<int, 8>* ints,
                                    vec<_Float16, 16>* halves) {
  const int t = thread_x();
  out[t] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(hf[t], hf[t + 32], out[t]);
  ints[t] = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, bytes[t], true, bytes[t + 32], ints[t], false);
  halves[t] = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(hf[t], hf[t + 32], halves[t], false);
}

KERNEL BLOCK(64) dot_row(const uint16* x, const uint16* w, float* out, int depth) {
  SHARED static float partial[2];
  float sum = 0;
  for (int k = thread_x(); k < depth; k += 64) {
    sum = __builtin_fmaf(bf16_to_float(x[k]), bf16_to_float(w[uint64(block_x()) * depth + k]), sum);
  }
  for (int step = 16; step > 0; step /= 2) {
    sum += __builtin_bit_cast(
        float, __builtin_amdgcn_ds_bpermute((lane_id() ^ step) * 4, __builtin_bit_cast(int, sum)));
  }
  if (lane_id() == 0) partial[thread_x() / 32] = sum;
  barrier();
  if (thread_x() == 0) out[block_x()] = partial[0] + partial[1];
}
