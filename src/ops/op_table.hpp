// The op surface of one opened device: for each op the ordered list of variants that can run
// there, and the counters of what was selected, refused and fallen back from.
//
// A provider fills a table once; afterwards only the counters change. They are atomic, so that
// another thread may read them while a model runs.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include "ops/attention.hpp"
#include "ops/dense.hpp"
#include "ops/moe.hpp"
#include "ops/sampling.hpp"
#include "ops/variant.hpp"

namespace moe::ops {

template <class... Descs>
struct DescList {};

// One line per op: its description type. The order is that of OpId.
using AllDescs = DescList<GatherRows, RmsNorm, Rope, KvCacheStore, AttentionPaged, Linear,
                          LinearF32, SiluMul, ScaleAdd, RouterTopK, MoeGateUpSilu, MoeGroupedGemm,
                          MoeGroupedGemmWeighted, MoeCombine, MoeCombinePreweighted, SampleTokens>;

// A row of the public counters.
struct VariantCount {
  OpId op;
  std::string device;
  std::string variant;
  uint64_t selected = 0;
  std::array<uint64_t, kRefusalCount> refused{};  // by reason
  uint64_t fallbacks = 0;                         // selected after a better one refused
};

// A variant that the device can never run, and why; for `moe devices`.
struct Unavailable {
  OpId op;
  std::string variant;
  Refusal reason;
};

class OpTable {
 public:
  explicit OpTable(DeviceFacts facts) : facts_(std::move(facts)) {}
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  const DeviceFacts& facts() const { return facts_; }

  // Takes over the provider's list for one op, best first, without what `disabled` names (an op
  // name or a variant name) and without what the device cannot run.
  template <class Desc>
  void add(std::span<const Variant<Desc>> variants, std::span<const std::string> disabled = {});

  // First variant that accepts; counts it, and counts each refusal before it. Errors: unsupported
  // naming op, device and architecture, with the reasons.
  template <class Desc>
  Result<const Variant<Desc>*> select(const Desc& desc);

  // As select, without counting; null when none accepts.
  template <class Desc>
  const Variant<Desc>* find(const Desc& desc) const;

  // The largest scratch any accepting variant wants for `desc`. Errors as select.
  template <class Desc>
  Result<uint64_t> workspace_bytes(const Desc& desc) const;

  std::vector<VariantCount> counts() const;
  std::vector<Unavailable> unavailable() const { return unavailable_; }
  void reset_counts();

  // The expert chain of a model on this device was legacy although native was wanted, because
  // `missing` has no provider; counted as a refusal.
  void count_chain_refusal(OpId missing) { chain_refusals_[static_cast<size_t>(missing)]++; }
  uint64_t chain_refusals(OpId missing) const {
    return chain_refusals_[static_cast<size_t>(missing)].load();
  }
  uint64_t chain_refusals() const;

 private:
  struct Counters {
    std::atomic<uint64_t> selected{0};
    std::atomic<uint64_t> fallbacks{0};
    std::array<std::atomic<uint64_t>, kRefusalCount> refused{};
  };
  template <class Desc>
  struct Entry {
    const Variant<Desc>* variant;
    Counters* counters;
  };
  template <class List>
  struct Lists;
  template <class... Descs>
  struct Lists<DescList<Descs...>> {
    using Type = std::tuple<std::vector<Entry<Descs>>...>;
  };

  template <class Desc>
  std::vector<Entry<Desc>>& entries() {
    return std::get<std::vector<Entry<Desc>>>(lists_);
  }
  template <class Desc>
  const std::vector<Entry<Desc>>& entries() const {
    return std::get<std::vector<Entry<Desc>>>(lists_);
  }
  struct CountedName {
    OpId op;
    std::string variant;
    Counters counters;
  };
  Counters* counters_for(OpId op, std::string_view variant);
  Error no_variant(OpId op, const std::string& reasons) const;
  static bool is_disabled(OpId op, std::string_view variant, std::span<const std::string> disabled);

  DeviceFacts facts_;
  Lists<AllDescs>::Type lists_;
  std::deque<CountedName> counted_;  // deque: addresses stay valid
  std::vector<Unavailable> unavailable_;
  std::array<std::atomic<uint64_t>, kOpCount> chain_refusals_{};
};

template <class Desc>
void OpTable::add(std::span<const Variant<Desc>> variants, std::span<const std::string> disabled) {
  for (const Variant<Desc>& variant : variants) {
    Refusal refusal = variant.available(facts_);
    if (is_disabled(Desc::kId, variant.name, disabled)) refusal = Refusal::kDisabled;
    if (refusal == Refusal::kNone) {
      entries<Desc>().push_back({&variant, counters_for(Desc::kId, variant.name)});
    } else {
      unavailable_.push_back({Desc::kId, std::string(variant.name), refusal});
    }
  }
}

template <class Desc>
Result<const Variant<Desc>*> OpTable::select(const Desc& desc) {
  std::string reasons;
  bool refused_before = false;
  for (const Entry<Desc>& entry : entries<Desc>()) {
    const Refusal refusal = entry.variant->accepts(desc);
    if (refusal == Refusal::kNone) {
      entry.counters->selected.fetch_add(1, std::memory_order_relaxed);
      if (refused_before) entry.counters->fallbacks.fetch_add(1, std::memory_order_relaxed);
      return entry.variant;
    }
    refused_before = true;
    entry.counters->refused[static_cast<size_t>(refusal)].fetch_add(1, std::memory_order_relaxed);
    reasons += std::string(reasons.empty() ? "" : ", ") + std::string(entry.variant->name) +
               " refused: " + std::string(name_of(refusal));
  }
  return no_variant(Desc::kId, reasons);
}

template <class Desc>
const Variant<Desc>* OpTable::find(const Desc& desc) const {
  for (const Entry<Desc>& entry : entries<Desc>()) {
    if (entry.variant->accepts(desc) == Refusal::kNone) return entry.variant;
  }
  return nullptr;
}

template <class Desc>
Result<uint64_t> OpTable::workspace_bytes(const Desc& desc) const {
  uint64_t most = 0;
  bool accepted = false;
  for (const Entry<Desc>& entry : entries<Desc>()) {
    if (entry.variant->accepts(desc) != Refusal::kNone) continue;
    accepted = true;
    const uint64_t bytes = entry.variant->workspace_bytes(desc, facts_);
    most = bytes > most ? bytes : most;
  }
  if (!accepted) return no_variant(Desc::kId, "");
  return most;
}

}  // namespace moe::ops
