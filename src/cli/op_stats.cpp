#include "cli/op_stats.hpp"

#include <fmt/format.h>

namespace moe::cli {
namespace {

std::string refused_text(const OpCount& row) {
  if (row.refused.empty()) return "0";
  uint64_t total = 0;
  std::string reasons;
  for (const auto& [reason, count] : row.refused) {
    total += count;
    reasons += fmt::format("{}{} x {}", reasons.empty() ? "" : ", ", reason, count);
  }
  return fmt::format("{} ({})", total, reasons);
}

}  // namespace

std::string op_stats_text(const Model& model) {
  std::string text = fmt::format("{:<30} {:<9} {:<28} {:>9} {:>9}  {}\n", "op", "device", "variant",
                                 "selected", "fallback", "refused");
  for (const OpCount& row : model.op_counts()) {
    text += fmt::format("{:<30} {:<9} {:<28} {:>9} {:>9}  {}\n", row.op, row.device, row.variant,
                        row.selected, row.fallbacks, refused_text(row));
  }
  text += "expert chain: " + model.info().expert_numerics + "\n";
  for (const ChainRefusal& refusal : model.chain_refusals()) {
    text += fmt::format("expert chain: native refused {} x, {} has no provider\n", refusal.count,
                        refusal.op);
  }
  return text;
}

}  // namespace moe::cli
