// The operations without a matrix product: row copies, norm, rotary embedding, activation,
// sampling.
#pragma once

#include "ops/dense.hpp"
#include "ops/sampling.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_gather_rows(const ops::GatherRows& op, CpuDevice& device);
Status run_rms_norm(const ops::RmsNorm& op, CpuDevice& device, const KernelTable& kernels);
Status run_rope(const ops::Rope& op, CpuDevice& device, const KernelTable& kernels);
Status run_silu_mul(const ops::SiluMul& op, CpuDevice& device, const KernelTable& kernels);
Status run_scale_add(const ops::ScaleAdd& op, CpuDevice& device, const KernelTable& kernels);
Status run_sample_tokens(const ops::SampleTokens& op, CpuDevice& device);

}  // namespace moe::providers::cpu
