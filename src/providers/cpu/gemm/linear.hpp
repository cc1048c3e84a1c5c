// Linear on the processor. Rounding happens on the tile of dots, so y is written once.
#pragma once

#include "ops/dense.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_linear(const ops::Linear& op, CpuDevice& device, const KernelTable& kernels);

}  // namespace moe::providers::cpu
