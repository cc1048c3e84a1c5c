// `moe verify`: runs everything an oracle folder holds on one device and collects a report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ops/op_table.hpp"
#include "providers/provider.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

struct VerifyOptions {
  std::string device = "auto";
  providers::OpenOptions device_options;
  std::string filter;  // run only cases whose name contains it
  bool full = false;   // compute every token of the large component cases, not only sampled ones
};

struct VerifyReport {
  DeviceFacts device;
  std::vector<CaseResult> results;
  std::vector<ops::VariantCount> counts;  // summed over all cases
  uint64_t peak_device_bytes = 0;         // the most any case had allocated
  double seconds = 0;

  int64_t count(Outcome outcome) const;
  bool passed() const { return count(Outcome::kFail) == 0 && !results.empty(); }
  // "N passed, N failed, N skipped"
  std::string summary() const;
};

// Adds to a report what one opened device did.
void add_usage(VerifyReport& report, const Device& device, const ops::OpTable& table);

// Runs `models/`, `components/`, `tokenizers/` and `templates/` of `dir`, whichever exist;
// `on_case` sees each result as it comes. Errors: not_found when the folder has none of them or
// holds no case; the device's when it cannot be opened.
Result<VerifyReport> verify_oracle(const std::filesystem::path& dir, const VerifyOptions& options,
                                   const std::function<void(const CaseResult&)>& on_case);

// "PASS models/x measured ... allowed ...": one line, without a line break at its end.
std::string format_case(const CaseResult& result);

// Writes the report as JSON to `path` and as Markdown beside it (extension .md).
// Errors: invalid_argument with path and reason when a file cannot be written.
Status write_report(const VerifyReport& report, const std::filesystem::path& path);

}  // namespace moe::verify
