#include "providers/cpu/arch/isa.hpp"

#include "base/check.hpp"
#include "base/cpu_facts.hpp"

namespace moe::providers::cpu {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kPortable:
      return "portable";
    case Isa::kReference:
      return "ref";
  }
  return "?";
}

std::optional<Isa> isa_named(std::string_view name) {
  for (int i = 0; i < kIsaCount; ++i) {
    if (name == name_of(static_cast<Isa>(i))) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

std::string isa_names() {
  std::string names;
  for (int i = 0; i < kIsaCount; ++i) {
    names += std::string(i == 0 ? "" : ", ") + std::string(name_of(static_cast<Isa>(i)));
  }
  return names;
}

bool runs_here(Isa isa) {
  const CpuFacts& facts = cpu_facts();
  switch (isa) {
    case Isa::kAvx512Bf16:
      return facts.avx512_bf16 && kAvx512Bf16Kernels.dots != nullptr;
    case Isa::kAvx512:
      return facts.avx512 && kAvx512Kernels.dots != nullptr;
    case Isa::kAvx2:
      return facts.avx2_fma && kAvx2Kernels.dots != nullptr;
    case Isa::kPortable:
    case Isa::kReference:
      return true;
  }
  return false;
}

Isa best_isa() {
  for (int i = 0; i < kIsaCount; ++i) {
    if (runs_here(static_cast<Isa>(i))) return static_cast<Isa>(i);
  }
  return Isa::kPortable;
}

const KernelTable& kernels_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512Bf16:
      return kAvx512Bf16Kernels;
    case Isa::kAvx512:
      return kAvx512Kernels;
    case Isa::kAvx2:
      return kAvx2Kernels;
    case Isa::kPortable:
      return kPortableKernels;
    case Isa::kReference:
      break;
  }
  CHECK(isa != Isa::kReference);
  return kPortableKernels;
}

}  // namespace moe::providers::cpu
