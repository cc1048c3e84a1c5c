// One component case on a device: read, run, compare. Each gives the deviation found; an Error
// means that the case could not be read or run. One thread.
#pragma once

#include <filesystem>
#include <string>

#include "moe/result.hpp"
#include "verify/component_cases.hpp"
#include "verify/component_verify.hpp"

namespace moe::verify {

// What a comparison says, before it becomes a CaseResult.
struct Finding {
  bool ok = true;
  std::string measured;
  std::string allowed;
  std::string detail;
};

Result<Finding> run_expert_case(const ExpertCase& test, ops::MoeNumerics numerics,
                                const std::filesystem::path& dir, VerifyDevice target,
                                const ComponentOptions& options);
Result<Finding> run_large_case(const LargeCase& test, ops::MoeNumerics numerics,
                               const std::filesystem::path& dir, VerifyDevice target,
                               const ComponentOptions& options);
Result<Finding> run_router_case(const RouterCase& test, const std::filesystem::path& dir,
                                VerifyDevice target);

}  // namespace moe::verify
