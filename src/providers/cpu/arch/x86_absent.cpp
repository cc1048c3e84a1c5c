// Builds for other architectures: the x86 tables are there, and empty.
#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {

constinit const KernelTable kAvx2Kernels{};
constinit const KernelTable kAvx512Kernels{};
constinit const KernelTable kAvx512Bf16Kernels{};

}  // namespace moe::providers::cpu
