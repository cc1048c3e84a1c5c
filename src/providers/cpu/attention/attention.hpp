// Attention over the paged cache, and storing into it, on the processor. A task is up to 32 queries
// (rows x heads) that read one cache head, so a key row is read once for all of them.
#pragma once

#include "ops/attention.hpp"
#include "ops/variant.hpp"
#include "providers/cpu/cpu_device.hpp"

namespace moe::providers::cpu {

Status run_kv_cache_store(const ops::KvCacheStore& op);
Status run_attention_paged(const ops::AttentionPaged& op, CpuDevice& device,
                           const KernelTable& kernels, ops::Workspace workspace);
uint64_t workspace_of(const ops::AttentionPaged& op, int threads);

}  // namespace moe::providers::cpu
