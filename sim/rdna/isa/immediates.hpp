// The spelling of the 16-bit immediates of SOPP and SOPK. Threads: pure.
#pragma once

#include <cstdint>
#include <string>

namespace moe::sim::rdna {

// `type` is the type letter of an 'i' operand in isa/form.hpp. Empty when nothing is printed.
std::string immediate_text(char type, uint32_t value);

// The offset of ds_swizzle_b32, which encodes a permutation.
std::string swizzle_text(uint32_t offset);

// The counters of s_waitcnt.
struct WaitCounts {
  uint32_t vector_memory = 0;
  uint32_t exports = 0;
  uint32_t lds_and_scalar = 0;
};
WaitCounts wait_counts(uint32_t immediate);

}  // namespace moe::sim::rdna
