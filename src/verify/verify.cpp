#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/errors.hpp"
#include "verify/component_verify.hpp"
#include "verify/model_cases.hpp"
#include "verify/text_cases.hpp"

namespace moe::verify {
namespace {

Status verify_component_folder(const std::filesystem::path& dir, const VerifyOptions& options,
                               VerifyReport& report, const CaseSink& sink) {
  const providers::OpenedDevice opened =
      TRY(providers::open_device(options.device, options.device_options));
  ComponentOptions component_options;
  component_options.filter = options.filter;
  component_options.full = options.full;
  component_options.on_result = sink;
  TRY(verify_components(dir, {*opened.device, *opened.table}, component_options));
  add_usage(report, *opened.device, *opened.table);
  return {};
}

}  // namespace

int64_t VerifyReport::count(Outcome outcome) const {
  return std::count_if(results.begin(), results.end(),
                       [&](const CaseResult& result) { return result.outcome == outcome; });
}

std::string VerifyReport::summary() const {
  return fmt::format("{} passed, {} failed, {} skipped", count(Outcome::kPass),
                     count(Outcome::kFail), count(Outcome::kSkip));
}

void add_usage(VerifyReport& report, const Device& device, const ops::OpTable& table) {
  report.peak_device_bytes = std::max(report.peak_device_bytes, device.peak_allocated_bytes());
  for (const ops::VariantCount& row : table.counts()) {
    auto same = std::find_if(report.counts.begin(), report.counts.end(), [&](const auto& known) {
      return known.op == row.op && known.variant == row.variant;
    });
    if (same == report.counts.end()) {
      report.counts.push_back(row);
      continue;
    }
    same->selected += row.selected;
    same->fallbacks += row.fallbacks;
    for (size_t reason = 0; reason < row.refused.size(); ++reason) {
      same->refused[reason] += row.refused[reason];
    }
  }
}

Result<VerifyReport> verify_oracle(const std::filesystem::path& dir, const VerifyOptions& options,
                                   const std::function<void(const CaseResult&)>& on_case) {
  const auto begin = std::chrono::steady_clock::now();
  VerifyReport report;
  // Opened once up front, so that a wrong device name fails before any case.
  report.device =
      TRY(providers::open_device(options.device, options.device_options)).device->facts();
  const CaseSink sink = [&](CaseResult result) {
    if (on_case) on_case(result);
    report.results.push_back(std::move(result));
  };
  engine::EngineOptions engine_options;
  engine_options.device = options.device;
  engine_options.device_options = options.device_options;
  const auto on_engine = [&](engine::Engine& engine) {
    add_usage(report, engine.device(), engine.op_table());
  };
  if (std::filesystem::exists(dir / "components")) {
    TRY(verify_component_folder(dir / "components", options, report, sink));
  }
  TRY(verify_models(dir / "models", engine_options, options.filter, sink, on_engine));
  TRY(verify_tokenizers(dir / "tokenizers", options.filter, sink));
  TRY(verify_templates(dir / "templates", options.filter, sink));
  if (report.results.empty()) {
    return not_found(fmt::format("{}: no case found{}", dir.string(),
                                 options.filter.empty() ? "" : " that matches the filter"),
                     "give a folder with models/, components/, tokenizers/ or templates/");
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace moe::verify
