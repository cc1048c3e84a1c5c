// The grouped expert products on the processor. Pairs are sorted by expert; a task is up to 64
// pairs of one expert times 32 weight rows, so each weight row is read from memory once a block.
#pragma once

#include "ops/moe.hpp"
#include "ops/variant.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_gate_up_silu(const ops::MoeGateUpSilu& op, CpuDevice& device, const KernelTable& kernels,
                        ops::Workspace workspace);
Status run_grouped_gemm(const ops::MoeGroupedGemm& op, CpuDevice& device,
                        const KernelTable& kernels, ops::Workspace workspace);
Status run_grouped_gemm_weighted(const ops::MoeGroupedGemmWeighted& op, CpuDevice& device,
                                 const KernelTable& kernels, ops::Workspace workspace);

uint64_t workspace_of(const ops::MoeGateUpSilu& op);
uint64_t workspace_of(const ops::MoeGroupedGemm& op);
uint64_t workspace_of(const ops::MoeGroupedGemmWeighted& op);

}  // namespace moe::providers::cpu
