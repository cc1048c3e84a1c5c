// What the processor and the operating system allow this process: instruction sets (CPUID and the
// register state that the kernel saves), allowed cores (affinity and cgroup quota), model name.
#pragma once

#include <string>

namespace moe {

struct CpuFacts {
  bool avx2_fma = false;     // AVX2, FMA and F16C
  bool avx512 = false;       // AVX512 F, BW, VL and DQ
  bool avx512_bf16 = false;  // AVX512-BF16 on top of `avx512`
  bool amx_bf16 = false;     // AMX tiles with BF16
  int allowed_cores = 1;     // min(affinity mask, cgroup quota rounded up), >= 1
  std::string model_name;
};

// Read once per process.
const CpuFacts& cpu_facts();

// Highest instruction set by name ("avx512_bf16", "avx512", "avx2", "portable"); for messages.
std::string isa_summary(const CpuFacts& facts);

}  // namespace moe
