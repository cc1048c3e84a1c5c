// Integer work: counting sort with LDS atomics, top-k, prefix sums, bit tricks, ballots.
#include "prelude.hip.inc"

KERNEL BLOCK(256) align_sort(const int* ids, int* counts, int* offsets, int* order, int n, int experts) {
  SHARED static int histogram[256];
  SHARED static int start[256];
  const int t = thread_x();
  histogram[t] = 0;
  barrier();
  for (int i = t; i < n; i += 256) {
    const int id = ids[i];
    if (id >= 0 && id < experts) __hip_atomic_fetch_add(&histogram[id], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  barrier();
  if (t == 0) {
    int sum = 0;
    for (int e = 0; e < experts; ++e) {
      start[e] = sum;
      sum += (histogram[e] + 15) / 16 * 16;
    }
  }
  barrier();
  counts[t] = histogram[t];
  offsets[t] = start[t];
  for (int i = t; i < n; i += 256) {
    const int id = ids[i];
    if (id < 0) continue;
    const int place = __hip_atomic_fetch_add(&start[id], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    order[place] = i;
  }
}

KERNEL BLOCK(32) top_k(const float* logits, float* weights, int* ids, int experts, int k) {
  const int t = thread_x();
  float best = -3.0e38f, sum = 0;
  for (int round = 0; round < k; ++round) {
    int index = -1;
    best = -3.0e38f;
    for (int e = t; e < experts; e += 32) {
      const float v = logits[uint64(block_x()) * experts + e];
      if (v > best || (v == best && e < index)) {
        best = v;
        index = e;
      }
    }
    for (int step = 1; step < 32; step *= 2) {
      const float other = __builtin_bit_cast(
          float, __builtin_amdgcn_ds_bpermute((t ^ step) * 4, __builtin_bit_cast(int, best)));
      const int other_index = __builtin_amdgcn_ds_bpermute((t ^ step) * 4, index);
      if (other > best || (other == best && uint32(other_index) < uint32(index))) {
        best = other;
        index = other_index;
      }
    }
    sum += __builtin_expf(best);
    if (t == 0) {
      weights[block_x() * k + round] = best;
      ids[block_x() * k + round] = index;
    }
  }
  if (t < k) weights[block_x() * k + t] /= sum;
}

KERNEL BLOCK(64) bits(const uint32* in, uint32* out, const uint64* wide, uint64* wide_out, int shift) {
  const int t = thread_x();
  const uint32 a = in[t], b = in[t + 64], c = in[t + 128];
  uint32 r = __builtin_popcount(a) + __builtin_clz(b | 1) + __builtin_ctz(c | 1) + __builtin_bitreverse32(a);
  r ^= (a << 5 | b) + (a & b | c) + (a ^ b ^ c) + ((a << (shift & 31)) + c) + __builtin_rotateleft32(b, 7);
  r += (a >> 3 & 31) * 24 + a / 7 + b % 13 + int(c) / 5 + max(int(a), int(b)) + min(a, c) + (a & 0xffffff) * (b & 0xffffff);
  r += __builtin_amdgcn_ubfe(a, 4, 9) + __builtin_amdgcn_sbfe(b, 3, 7) + __builtin_amdgcn_perm(a, b, c) +
       __builtin_amdgcn_alignbit(a, b, c) + __builtin_amdgcn_sad_u8(a, b, c) + (a | b | c);
  const uint64 w = wide[t], v = wide[t + 64];
  wide_out[t] = w * v + (w >> (shift & 63)) + (v << 13) + uint64((long long)(w) >> 5) + w / (v | 1) + r;
  const uint64 mask = __builtin_amdgcn_ballot_w32(a > b);
  if (mask != 0 && __builtin_amdgcn_readlane(int(a), __builtin_ctz(uint32(mask))) > 5) r += uint32(mask);
  out[t] = r + __builtin_amdgcn_readfirstlane(int(r));
}
