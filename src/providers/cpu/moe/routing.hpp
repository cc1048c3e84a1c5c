// Expert choice and the combination of expert rows on the processor.
#pragma once

#include "ops/moe.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_router_top_k(const ops::RouterTopK& op, CpuDevice& device);
Status run_combine(const ops::MoeCombine& op, CpuDevice& device, const KernelTable& kernels);
Status run_combine_preweighted(const ops::MoeCombinePreweighted& op, CpuDevice& device,
                               const KernelTable& kernels);

}  // namespace moe::providers::cpu
