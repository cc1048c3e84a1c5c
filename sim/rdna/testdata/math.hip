// Floating point in all widths: divisions, roots, exponentials, conversions, comparisons, packed
// halves, double precision, scalar arithmetic on uniform values, control flow.
#include "prelude.hip.inc"

KERNEL BLOCK(64) singles(const float* in, float* out, int n, float scale) {
  const int t = thread_x();
  const float a = in[t], b = in[t + 64], c = in[t + 128];
  float r = a / b + __builtin_sqrtf(c) + __builtin_expf(a) + __builtin_exp2f(b) + __builtin_logf(c);
  r += __builtin_rintf(a) + __builtin_truncf(b) + __builtin_floorf(c) + __builtin_ceilf(a) + __builtin_sinf(b);
  r += __builtin_fmaxf(a, __builtin_fmaxf(b, c)) + __builtin_fminf(a, b) + __builtin_fabsf(c) * -a;
  r += float(int(a)) + float(uint32(b)) + float((n >> 8) & 255) + __builtin_ldexpf(a, n) + float(uint32(n) & 255);
  r = __builtin_fmaf(-a, b, -__builtin_fabsf(c)) + __builtin_amdgcn_fmed3f(a, b, 1.0f) + r * 0.5f;
  r += __builtin_amdgcn_rcpf(a) + __builtin_amdgcn_rsqf(b) + __builtin_amdgcn_fractf(c);
  if (a < b) r += 1;
  if (!(a < c)) r *= 3;
  if (a != b && !(b > c)) r -= scale;
  if (__builtin_isnan(a) || __builtin_isunordered(b, c)) r = 0;
  for (int i = 0; i < n; ++i) {
    if (r > scale * float(i)) r = r * scale + in[i];
    if (r < -100.0f) break;
  }
  r = __builtin_fminf(__builtin_fmaxf(r, 0.0f), 1.0f);
  out[t] = r * (scale * 3.0f + float(n)) * 4.0f;
}

KERNEL BLOCK(64) halves(const _Float16* in, _Float16* out, float* singles, const short* ints) {
  const int t = thread_x();
  const _Float16 a = in[t], b = in[t + 64];
  _Float16 r = a * b + __builtin_fmaxf16(a, b) + (a < b ? a : b) - a / b;
  r = __builtin_fmaf16(a, b, r) + __builtin_sqrtf16(a) + __builtin_floorf16(b);
  typedef vec<_Float16, 2> pair;
  pair p = ((const pair*)in)[t + 64], q = ((const pair*)in)[t + 128];
  p = p * q + q - __builtin_elementwise_max(p, q);
  ((pair*)out)[t + 64] = p;
  vec<short, 2> i = ((const vec<short, 2>*)ints)[t];
  i = i * i + __builtin_elementwise_max(i, vec<short, 2>{3, 4}) - (i << 2);
  short s = ints[t + 300];
  s = short(s * s + (s >> 3)) > short(5) ? s : short(9);
  singles[t] = float(a) + float(i.x) + float(s) + __builtin_amdgcn_fdot2(p, q, 1.0f, false);
  out[t] = r;
}

KERNEL BLOCK(64) doubles(const double* in, double* out, int n) {
  const int t = thread_x();
  const double a = in[t], b = in[t + 64];
  double r = a / b + a * b - __builtin_sqrt(a) + __builtin_fma(a, b, 2.5) + double(n) + double(float(a));
  r += __builtin_fmax(a, b) + __builtin_floor(a) + double(int(b)) + __builtin_ldexp(a, 3);
  if (a < b) r = -r;
  out[t] = r + 123.456;
}

KERNEL BLOCK(32) scalars(const int* in, int* out, float x, float y, int n, uint32 u, uint64 w) {
  int s = in[0] + in[1] * in[2] - (in[3] >> 2) + max(in[4], in[5]) + (in[6] & ~in[7]) + __builtin_abs(in[8]);
  uint64 v = w * u + (w >> 7) + (w & 0xff00ff00ff00ull) + uint64(in[9]);
  for (int i = 0; i < n; ++i) {
    s += in[i + (s & 3)] * i;
    if (s == 1234567) break;
    if ((u >> (i & 31)) & 1) v ^= uint64(s);
  }
  const float f = x * y + x - y * 3.0f + __builtin_fmaxf(x, y) + float(n);
  if (f > x) s += int(f);
  out[0] = s + int(v) + int(v >> 32) + __builtin_popcountll(v) + __builtin_ctzll(v | 1) + int(u / 10u);
  out[1] = int(__builtin_readcyclecounter());
}

KERNEL dimensions(int* out) {
  const int x = __builtin_amdgcn_workitem_id_x() + __builtin_amdgcn_workitem_id_y() * 8 + __builtin_amdgcn_workitem_id_z();
  out[x + __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_x()] = __builtin_amdgcn_grid_size_x();
}
