// Linear on the processor. Rounding happens on the tile of dots, so y is written once.
#pragma once

#include "ops/dense.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_linear(const ops::Linear& op, CpuDevice& device, const KernelTable& kernels);
// Scalar on every instruction set: only routers use it.
Status run_linear_f32(const ops::LinearF32& op, CpuDevice& device);

}  // namespace moe::providers::cpu
