// exp and log in FP64 from multiply, add, divide and bit operations only, so that routing and
// sampling decide alike on every machine and compiler (libm differs in its last bits). Relative
// error a few 2^-53. Any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace moe::ops {

// ln 2 in two parts; n * kLn2High64 is exact for |n| < 2^20.
constexpr double kLn2High64 = 6.93147180369123816490e-01;
constexpr double kLn2Low64 = 1.90821492927058770002e-10;

// e^x; NaN stays NaN, out of range gives 0 or infinity.
inline double exp_f64(double x) {
  constexpr double kRoundToInteger = 6755399441055744.0;  // 1.5 * 2^52
  if (x != x) return x;
  const double t = x < -746.0 ? -746.0 : (x > 710.0 ? 710.0 : x);
  const double n = (t * 1.44269504088896340736 + kRoundToInteger) - kRoundToInteger;
  const double r = (t - n * kLn2High64) - n * kLn2Low64;
  double sum = 1.0;  // Taylor to r^13 by Horner: the next term is below 2^-57
  for (int k = 13; k > 0; --k) sum = 1.0 + sum * r / static_cast<double>(k);
  const int64_t exponent = static_cast<int64_t>(n);
  const int64_t half = exponent >> 1;
  const double first = std::bit_cast<double>((half + 1023) << 52);
  const double second = std::bit_cast<double>((exponent - half + 1023) << 52);
  return (sum * first) * second;
}

// ln x for a positive normal x.
inline double log_f64(double x) {
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & kFraction) | kOne);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    exponent += 1;
  }
  // ln m = 2 atanh(s), |s| < 0.1716: the term after s^23 is below 2^-60 of the sum.
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k > 1; k -= 2) sum = (sum + 1.0 / static_cast<double>(k)) * square;
  const double n = static_cast<double>(exponent);
  return n * kLn2High64 + (n * kLn2Low64 + 2.0 * (s + s * sum));
}

}  // namespace moe::ops
