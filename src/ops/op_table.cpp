#include "ops/op_table.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"

namespace moe::ops {

std::string_view name_of(OpId id) {
  switch (id) {
    case OpId::kGatherRows:
      return "kGatherRows";
    case OpId::kRmsNorm:
      return "kRmsNorm";
    case OpId::kRope:
      return "kRope";
    case OpId::kKvCacheStore:
      return "kKvCacheStore";
    case OpId::kAttentionPaged:
      return "kAttentionPaged";
    case OpId::kLinearBf16:
      return "kLinearBf16";
    case OpId::kLinearF32:
      return "kLinearF32";
    case OpId::kSiluMul:
      return "kSiluMul";
    case OpId::kScaleAdd:
      return "kScaleAdd";
    case OpId::kRouterTopK:
      return "kRouterTopK";
    case OpId::kMoeGroupedGemmBf16GateUpSilu:
      return "kMoeGroupedGemmBf16GateUpSilu";
    case OpId::kMoeGroupedGemmBf16:
      return "kMoeGroupedGemmBf16";
    case OpId::kMoeGroupedGemmBf16Weighted:
      return "kMoeGroupedGemmBf16Weighted";
    case OpId::kMoeCombine:
      return "kMoeCombine";
    case OpId::kMoeCombinePreweighted:
      return "kMoeCombinePreweighted";
    case OpId::kSampleTokens:
      return "kSampleTokens";
  }
  return "?";
}

std::string_view name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "accepted";
    case Refusal::kInstructionSet:
      return "the processor lacks the instructions";
    case Refusal::kArchitecture:
      return "built for another chip";
    case Refusal::kNumericsMode:
      return "does the other rounding chain";
    case Refusal::kDtype:
      return "element type not supported";
    case Refusal::kShape:
      return "shape not supported";
    case Refusal::kAlignment:
      return "rows are not aligned";
    case Refusal::kDisabled:
      return "disabled by the user";
  }
  return "?";
}

bool OpTable::is_disabled(OpId op, std::string_view variant,
                          std::span<const std::string> disabled) {
  for (const std::string& name : disabled) {
    if (name == name_of(op) || name == variant) return true;
    // "kOp=variant" names one variant of one op.
    if (name == fmt::format("{}={}", name_of(op), variant)) return true;
  }
  return false;
}

OpTable::Counters* OpTable::counters_for(OpId op, std::string_view variant) {
  CountedName& entry = counted_.emplace_back();
  entry.op = op;
  entry.variant = std::string(variant);
  return &entry.counters;
}

Error OpTable::no_variant(OpId op, const std::string& reasons) const {
  std::string detail = reasons;
  for (const Unavailable& entry : unavailable_) {
    if (entry.op != op) continue;
    detail += fmt::format("{}{} unavailable: {}", detail.empty() ? "" : ", ", entry.variant,
                          name_of(entry.reason));
  }
  return unsupported(
      fmt::format("operation {} has no provider on device {} ({}){}{}", name_of(op), facts_.name,
                  facts_.architecture, detail.empty() ? "" : ": ", detail),
      "choose another device with --device; `moe devices` lists what each one can do");
}

std::vector<VariantCount> OpTable::counts() const {
  std::vector<VariantCount> rows;
  for (const CountedName& entry : counted_) {
    VariantCount row{entry.op,
                     facts_.name,
                     entry.variant,
                     entry.counters.selected.load(),
                     {},
                     entry.counters.fallbacks.load()};
    for (size_t reason = 0; reason < row.refused.size(); ++reason) {
      row.refused[reason] = entry.counters.refused[reason].load();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void OpTable::reset_counts() {
  for (CountedName& entry : counted_) {
    entry.counters.selected = 0;
    entry.counters.fallbacks = 0;
    for (auto& refused : entry.counters.refused) refused = 0;
  }
  for (auto& refusals : chain_refusals_) refusals = 0;
}

uint64_t OpTable::chain_refusals() const {
  uint64_t total = 0;
  for (const auto& refusals : chain_refusals_) total += refusals.load();
  return total;
}

}  // namespace moe::ops
