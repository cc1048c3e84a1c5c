// How far a BF16 buffer may lie from its reference, and how far it does.
//
// exact: every bit. Otherwise |got - want| <= 2^-6 |want| + 4 max(spread, 2^-10 RMS(want)), NaN for
// NaN and the same infinity for infinity, and at most 2 % + 8 * changed elements unequal, where
// spread and changed are what other FP32 orders did. Why: docs/numerics.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.hpp"
#include "verify/component_cases.hpp"

namespace moe::verify {

struct BufferRule {
  bool exact = false;
  OrderSpread spread;
  double atol = 0;         // what one flushed subnormal does; four times that counts as equal
  std::vector<char> skip;  // by row: not compared; empty = all are
};

struct BufferDeviation {
  bool ok = true;
  uint64_t compared = 0;
  uint64_t unequal = 0;
  double allowed_unequal = 0;
  double worst_abs = 0;    // largest |got - want| among finite elements
  double worst_share = 0;  // largest |got - want| / its bound; above 1 fails
  std::string first_bad;   // position, got and wanted of the first element out of bounds

  std::string measured() const;
  std::string allowed(bool exact) const;
};

// Row-major buffers of the same size with `cols` columns.
BufferDeviation compare_buffer(std::span<const Bf16> got, std::span<const Bf16> want, int64_t cols,
                               const BufferRule& rule);

}  // namespace moe::verify
