// Runs the expert-block and router cases of an oracle folder on a device, through its op surface.
// The format of the folder and the bounds are described in docs/numerics.md.
//
// Runs on the calling thread, which drives the device while it runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "moe/result.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

struct ComponentOptions {
  std::string filter;  // run only cases whose name contains it
  // Large cases: every token instead of those that the samples need.
  bool full = false;
  // Give the experts as an array of addresses instead of base and stride.
  bool expert_pointers = false;
  // A listed file that is not there is a SKIP instead of a FAIL (for subsets of an oracle folder).
  bool skip_missing_files = false;
  // Called after each case, for progress.
  std::function<void(const CaseResult&)> on_result;
};

// One result per case and chain: "expert/<case>/native", "expert/<case>/legacy", "router/<case>".
// A case that cannot be read or run is a FAIL with the reason. Errors: not_found or corrupt when
// cases.json itself cannot be used.
Result<std::vector<CaseResult>> verify_components(const std::filesystem::path& components_dir,
                                                  VerifyDevice target,
                                                  const ComponentOptions& options = {});

}  // namespace moe::verify
