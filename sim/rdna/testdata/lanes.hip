// Movement between lanes and every kind of memory access: DPP, permlane, swizzle, atomics of all
// scopes, d16 halves, scratch, generic pointers, wide loads and stores, device variables.
#include "prelude.hip.inc"

template <int control>
DEV float dpp_add(float x) {
  const int moved = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), control, 15, 15, true);
  return x + __builtin_bit_cast(float, moved);
}

KERNEL BLOCK(32) reduce(const float* in, float* out, int* ints) {
  float x = in[thread_x()];
  x = dpp_add<0xb1>(x);
  x = dpp_add<0x4e>(x);
  x = dpp_add<0x141>(x);
  x = dpp_add<0x140>(x);
  x = dpp_add<0x111>(x);
  x = dpp_add<0x12f>(x);
  x = dpp_add<0x155>(x);
  x = dpp_add<0x163>(x);
  const int other = __builtin_amdgcn_permlanex16(__builtin_bit_cast(int, x), __builtin_bit_cast(int, x),
                                                 0x76543210, 0xfedcba98, false, false);
  int y = __builtin_amdgcn_update_dpp(ints[thread_x()], other, 0x101, 15, 15, false);
  y += __builtin_amdgcn_mov_dpp8(y, 0x688faa) + __builtin_amdgcn_ds_swizzle(y, 0x401f);
  y += __builtin_amdgcn_permlane16(y, y, 1, 2, true, false) + __builtin_amdgcn_permlane64(y) + __builtin_amdgcn_ds_permute(y, 3);
  ints[thread_x()] = y;
  out[thread_x()] = x + __builtin_bit_cast(float, other);
}

KERNEL BLOCK(64) atomics(int* i, uint32* u, uint64* w, float* f, int* returned) {
  const int t = thread_x();
  int r = __hip_atomic_fetch_add(i, t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(u, uint32(t), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min(i + 1, t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(u + 1, 1u << (t & 31), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_fetch_add(w, uint64(t), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  r += __hip_atomic_exchange(i + 2, t, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_fetch_add(f, 1.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  int expected = 3;
  if (__hip_atomic_compare_exchange_strong(i + 3, &expected, t, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                           __HIP_MEMORY_SCOPE_AGENT)) {
    r += expected;
  }
  SHARED static uint32 local[64];
  SHARED static uint64 wide[64];
  local[t] = 0;
  wide[t] = 0;
  barrier();
  __hip_atomic_fetch_max(&local[t & 7], uint32(t), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&wide[t & 7], uint64(t), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  returned[t] = r + int(local[t]) + int(wide[t]);
}

__attribute__((device)) int table[64] = {1, 2, 3};
__attribute__((device)) int* pointers[2] = {table, table + 5};

KERNEL BLOCK(64) memory(uint16* halves, const signed char* bytes, vec<float, 3>* threes,
                        vec<float, 4>* fours, uint16** pointer_list, int n) {
  const int t = thread_x();
  uint16* generic = pointer_list[block_x()];
  vec<uint16, 2> pair;
  pair.x = halves[t * 3];
  pair.y = generic[t * 5 + 1];
  halves[t] = pair.y;
  halves[t + 64] = pair.x + uint16(bytes[t]) + uint16(((const unsigned char*)bytes)[t + 1]);
  ((signed char*)bytes)[t + 64] = (signed char)n;
  *(vec<uint16, 2>*)&halves[t * 2 + 512] = pair;
  vec<float, 3> three = threes[t];
  vec<float, 4> four = fours[t] * 2.0f;
  threes[t + 64] = three + four.xyz;
  fours[t + 64] = four;
  int local[40];
  for (int i = 0; i < 40; ++i) local[i] = *pointers[i & 1] + i * n;
  local[(t * 7 + n) % 40] += table[t];
  vec<float, 4>* wide_local = (vec<float, 4>*)&local[t % 9 * 4];
  halves[t + 128] = uint16(local[(t + n) % 40] + int(wide_local->y));
  SHARED static uint16 tile[1024];
  tile[t * 2] = halves[t];
  barrier();
  *(vec<uint16, 8>*)&halves[4096 + t * 8] = *(vec<uint16, 8>*)&tile[t * 8];
  *(vec<uint16, 4>*)&halves[8192 + t * 4] = *(vec<uint16, 4>*)&tile[t * 4 + 12];
  ((vec<uint32, 2>*)halves)[9000 + t] = vec<uint32, 2>{((uint32*)tile)[t], ((uint32*)tile)[t + 100]};
}
