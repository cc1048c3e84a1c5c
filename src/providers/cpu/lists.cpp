// One constexpr list an op, best first; the order is that of Isa. Every variant takes every valid
// description, so the first one that the processor can run takes all calls. Operations that only
// copy or compare have one variant for all processors. Variants on AMX tiles belong in front.
#include "providers/cpu/lists.hpp"

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "providers/cpu/attention/attention.hpp"
#include "providers/cpu/elementwise/elementwise.hpp"
#include "providers/cpu/gemm/linear.hpp"
#include "providers/cpu/moe/expert_gemm.hpp"
#include "providers/cpu/moe/routing.hpp"

namespace moe::providers::cpu {
namespace {

using ops::NumericClass;
using ops::Refusal;
using ops::Variant;
using ops::Workspace;

constexpr std::string_view kVariantNames[kIsaCount] = {"cpu:avx512_bf16", "cpu:avx512", "cpu:avx2",
                                                       "cpu:portable", "ref"};

template <Isa isa>
Refusal available(const DeviceFacts&) {
  return runs_here(isa) ? Refusal::kNone : Refusal::kInstructionSet;
}

CpuDevice& cpu_of(Device& device) { return static_cast<CpuDevice&>(device); }

// What each op calls; `run` with the kernels of an instruction set.
Status run(const ops::RmsNorm& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_rms_norm(op, device, kernels);
}
Status run(const ops::Rope& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_rope(op, device, kernels);
}
Status run(const ops::AttentionPaged& op, CpuDevice& device, const KernelTable& kernels,
           Workspace workspace) {
  return run_attention_paged(op, device, kernels, workspace);
}
Status run(const ops::Linear& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_linear(op, device, kernels);
}
Status run(const ops::SiluMul& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_silu_mul(op, device, kernels);
}
Status run(const ops::ScaleAdd& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_scale_add(op, device, kernels);
}
Status run(const ops::MoeGateUpSilu& op, CpuDevice& device, const KernelTable& kernels,
           Workspace workspace) {
  return run_gate_up_silu(op, device, kernels, workspace);
}
Status run(const ops::MoeGroupedGemm& op, CpuDevice& device, const KernelTable& kernels,
           Workspace workspace) {
  return run_grouped_gemm(op, device, kernels, workspace);
}
Status run(const ops::MoeGroupedGemmWeighted& op, CpuDevice& device, const KernelTable& kernels,
           Workspace workspace) {
  return run_grouped_gemm_weighted(op, device, kernels, workspace);
}
Status run(const ops::MoeCombine& op, CpuDevice& device, const KernelTable& kernels, Workspace) {
  return run_combine(op, device, kernels);
}
Status run(const ops::MoeCombinePreweighted& op, CpuDevice& device, const KernelTable& kernels,
           Workspace) {
  return run_combine_preweighted(op, device, kernels);
}
// Those without kernels of their own.
Status run(const ops::GatherRows& op, CpuDevice& device) { return run_gather_rows(op, device); }
Status run(const ops::LinearF32& op, CpuDevice& device) { return run_linear_f32(op, device); }
Status run(const ops::KvCacheStore& op, CpuDevice&) { return run_kv_cache_store(op); }
Status run(const ops::RouterTopK& op, CpuDevice& device) { return run_router_top_k(op, device); }
Status run(const ops::SampleTokens& op, CpuDevice& device) { return run_sample_tokens(op, device); }

template <class Desc>
uint64_t scratch_bytes(const Desc& op, const DeviceFacts& facts) {
  if constexpr (std::is_same_v<Desc, ops::AttentionPaged>) {
    return workspace_of(op, facts.threads);
  } else if constexpr (requires { workspace_of(op); }) {
    return workspace_of(op);
  } else {
    return 0;
  }
}

template <class Desc, Isa isa>
Status run_with(const Desc& op, Device& device, Workspace workspace) {
  return run(op, cpu_of(device), kernels_of(isa), workspace);
}
template <class Desc>
Status run_plain(const Desc& op, Device& device, Workspace) {
  return run(op, cpu_of(device));
}
template <class Desc, Status (*reference)(const Desc&)>
Status run_reference(const Desc& op, Device&, Workspace) {
  return reference(op);
}

template <class Desc, Isa isa>
constexpr Variant<Desc> with_isa(NumericClass numeric_class) {
  return {kVariantNames[static_cast<int>(isa)],
          numeric_class,
          &available<isa>,
          &ops::accepts_all<Desc>,
          &scratch_bytes<Desc>,
          &run_with<Desc, isa>};
}
template <class Desc>
constexpr Variant<Desc> plain() {
  return {kVariantNames[static_cast<int>(Isa::kPortable)],
          NumericClass::kElementwise,
          &ops::always_available,
          &ops::accepts_all<Desc>,
          &ops::no_workspace<Desc>,
          &run_plain<Desc>};
}
template <class Desc, Status (*reference)(const Desc&)>
constexpr Variant<Desc> ref() {
  return {kVariantNames[static_cast<int>(Isa::kReference)],
          NumericClass::kReference,
          &ops::always_available,
          &ops::accepts_all<Desc>,
          &ops::no_workspace<Desc>,
          &run_reference<Desc, reference>};
}

// An op with kernels for each instruction set.
template <class Desc, Status (*reference)(const Desc&)>
constexpr std::array<Variant<Desc>, kIsaCount> isa_list(NumericClass numeric_class) {
  return {with_isa<Desc, Isa::kAvx512Bf16>(numeric_class),
          with_isa<Desc, Isa::kAvx512>(numeric_class), with_isa<Desc, Isa::kAvx2>(numeric_class),
          with_isa<Desc, Isa::kPortable>(numeric_class), ref<Desc, reference>()};
}
// An op with one variant beside the reference.
template <class Desc, Status (*reference)(const Desc&)>
constexpr std::array<Variant<Desc>, 2> plain_list() {
  return {plain<Desc>(), ref<Desc, reference>()};
}

constexpr NumericClass kDots = NumericClass::kLanes16;
constexpr NumericClass kExact = NumericClass::kElementwise;

constexpr auto kGatherRows = plain_list<ops::GatherRows, &ops::gather_rows_ref>();
constexpr auto kRmsNorm = isa_list<ops::RmsNorm, &ops::rms_norm_ref>(kExact);
constexpr auto kRope = isa_list<ops::Rope, &ops::rope_ref>(kExact);
constexpr auto kKvCacheStore = plain_list<ops::KvCacheStore, &ops::kv_cache_store_ref>();
constexpr auto kAttentionPaged = isa_list<ops::AttentionPaged, &ops::attention_paged_ref>(kDots);
constexpr auto kLinear = isa_list<ops::Linear, &ops::linear_ref>(kDots);
constexpr auto kLinearF32 = plain_list<ops::LinearF32, &ops::linear_f32_ref>();
constexpr auto kSiluMul = isa_list<ops::SiluMul, &ops::silu_mul_ref>(kExact);
constexpr auto kScaleAdd = isa_list<ops::ScaleAdd, &ops::scale_add_ref>(kExact);
constexpr auto kRouterTopK = plain_list<ops::RouterTopK, &ops::router_top_k_ref>();
constexpr auto kGateUpSilu = isa_list<ops::MoeGateUpSilu, &ops::moe_gate_up_silu_ref>(kDots);
constexpr auto kGroupedGemm = isa_list<ops::MoeGroupedGemm, &ops::moe_grouped_gemm_ref>(kDots);
constexpr auto kGroupedGemmWeighted =
    isa_list<ops::MoeGroupedGemmWeighted, &ops::moe_grouped_gemm_weighted_ref>(kDots);
constexpr auto kCombine = isa_list<ops::MoeCombine, &ops::moe_combine_ref>(kExact);
constexpr auto kCombinePreweighted =
    isa_list<ops::MoeCombinePreweighted, &ops::moe_combine_preweighted_ref>(kExact);
constexpr auto kSampleTokens = plain_list<ops::SampleTokens, &ops::sample_tokens_ref>();

// Place of a variant in the order of Isa.
int rank_of(std::string_view name) {
  int rank = 0;
  while (rank < kIsaCount && kVariantNames[rank] != name) ++rank;
  return rank;
}

// Offers a list, with what stands above `best` switched off: the table remembers why.
template <class Desc, size_t kCount>
void add_from(ops::OpTable& table, const std::array<Variant<Desc>, kCount>& list, Isa best,
              std::span<const std::string> disabled) {
  std::vector<std::string> off(disabled.begin(), disabled.end());
  for (const Variant<Desc>& variant : list) {
    // What the processor lacks keeps that as its reason.
    const bool runs = variant.available(table.facts()) == ops::Refusal::kNone;
    if (runs && rank_of(variant.name) < static_cast<int>(best)) off.emplace_back(variant.name);
  }
  table.add(std::span<const Variant<Desc>>(list), off);
}

}  // namespace

void register_variants(ops::OpTable& table, Isa best, std::span<const std::string> disabled) {
  add_from(table, kGatherRows, best, disabled);
  add_from(table, kRmsNorm, best, disabled);
  add_from(table, kRope, best, disabled);
  add_from(table, kKvCacheStore, best, disabled);
  add_from(table, kAttentionPaged, best, disabled);
  add_from(table, kLinear, best, disabled);
  add_from(table, kLinearF32, best, disabled);
  add_from(table, kSiluMul, best, disabled);
  add_from(table, kScaleAdd, best, disabled);
  add_from(table, kRouterTopK, best, disabled);
  add_from(table, kGateUpSilu, best, disabled);
  add_from(table, kGroupedGemm, best, disabled);
  add_from(table, kGroupedGemmWeighted, best, disabled);
  add_from(table, kCombine, best, disabled);
  add_from(table, kCombinePreweighted, best, disabled);
  add_from(table, kSampleTokens, best, disabled);
}

}  // namespace moe::providers::cpu
