#include "contract/targets.hpp"

#include <algorithm>
#include <map>

#include "contract/guarded.hpp"
#include "providers/provider.hpp"

namespace moe::contract {
namespace {

class GuardedHostDevice final : public Device {
 public:
  GuardedHostDevice() {
    facts_.name = "ref";
    facts_.architecture = "scalar";
    facts_.description = "the references in guarded host memory";
  }
  const DeviceFacts& facts() const override { return facts_; }
  Result<Buffer> allocate(uint64_t bytes) override {
    auto memory = std::make_unique<GuardedBytes>(bytes);
    void* data = memory->data();
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
    memory_[data] = std::move(memory);
    return Buffer(this, data, bytes);
  }
  Status copy_to_device(void* device_data, const void* host_data, uint64_t bytes) override {
    std::memcpy(device_data, host_data, bytes);
    return {};
  }
  Status copy_to_host(void* host_data, const void* device_data, uint64_t bytes) override {
    std::memcpy(host_data, device_data, bytes);
    return {};
  }
  bool reads_host_memory() const override { return true; }
  uint64_t allocated_bytes() const override { return allocated_; }
  uint64_t peak_allocated_bytes() const override { return peak_; }

 protected:
  void free(void* data, uint64_t bytes) override {
    CHECK(memory_.at(data)->intact());
    memory_.erase(data);
    allocated_ -= bytes;
  }

 private:
  DeviceFacts facts_;
  std::map<void*, std::unique_ptr<GuardedBytes>> memory_;
  uint64_t allocated_ = 0;
  uint64_t peak_ = 0;
};

template <class Desc, Status (*kReference)(const Desc&)>
void add_reference(ops::OpTable& table, const std::vector<std::string>& disabled) {
  static constexpr ops::Variant<Desc> kVariant = {
      "ref",
      ops::NumericClass::kReference,
      ops::always_available,
      ops::accepts_all<Desc>,
      ops::no_workspace<Desc>,
      [](const Desc& desc, Device&, ops::Workspace) { return kReference(desc); }};
  table.add<Desc>(std::span(&kVariant, 1), disabled);
}

const std::string kCpuPrefix = "cpu_";

// Three threads, so that work is split unevenly whatever the machine has.
providers::OpenOptions cpu_options(const std::string& isa) { return {3, isa, {}}; }

}  // namespace

std::unique_ptr<Device> make_guarded_host_device() { return std::make_unique<GuardedHostDevice>(); }

std::unique_ptr<ops::OpTable> make_reference_table(const std::vector<std::string>& disabled) {
  using namespace ops;  // NOLINT: a list of nothing but its names
  auto table = std::make_unique<OpTable>(DeviceFacts{DeviceType::kCpu, "ref", "scalar", "", 1, 0});
  add_reference<GatherRows, gather_rows_ref>(*table, disabled);
  add_reference<RmsNorm, rms_norm_ref>(*table, disabled);
  add_reference<Rope, rope_ref>(*table, disabled);
  add_reference<KvCacheStore, kv_cache_store_ref>(*table, disabled);
  add_reference<AttentionPaged, attention_paged_ref>(*table, disabled);
  add_reference<Linear, linear_ref>(*table, disabled);
  add_reference<LinearF32, linear_f32_ref>(*table, disabled);
  add_reference<SiluMul, silu_mul_ref>(*table, disabled);
  add_reference<ScaleAdd, scale_add_ref>(*table, disabled);
  add_reference<RouterTopK, router_top_k_ref>(*table, disabled);
  add_reference<MoeGateUpSilu, moe_gate_up_silu_ref>(*table, disabled);
  add_reference<MoeGroupedGemm, moe_grouped_gemm_ref>(*table, disabled);
  add_reference<MoeGroupedGemmWeighted, moe_grouped_gemm_weighted_ref>(*table, disabled);
  add_reference<MoeCombine, moe_combine_ref>(*table, disabled);
  add_reference<MoeCombinePreweighted, moe_combine_preweighted_ref>(*table, disabled);
  add_reference<SampleTokens, sample_tokens_ref>(*table, disabled);
  return table;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"ref"};
  for (const char* isa : {"portable", "avx2", "avx512", "avx512_bf16"}) {
    if (providers::open_device("cpu", cpu_options(isa)).ok()) names.push_back(kCpuPrefix + isa);
  }
  return names;
}

Target open_target(const std::string& name) {
  if (name == "ref") return {make_guarded_host_device(), make_reference_table()};
  CHECK(name.starts_with(kCpuPrefix));
  auto opened = providers::open_device("cpu", cpu_options(name.substr(kCpuPrefix.size())));
  CHECK(opened.ok());
  return {std::move(opened->device), std::move(opened->table)};
}

}  // namespace moe::contract
