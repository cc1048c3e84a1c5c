// The component and router cases of the reference data, on every device of this machine.
#include <gtest/gtest.h>

#include <filesystem>

#include "contract/targets.hpp"
#include "verify/component_verify.hpp"

namespace moe::contract {
namespace {

namespace fs = std::filesystem;
using verify::CaseResult;
using verify::ComponentOptions;
using verify::Outcome;

const fs::path kOwnData = fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/components";
const fs::path kFullData = fs::path(MOE_REFERENCE_DIR) / "oracle/components";

// What tests/data holds, so that cases cannot get lost: the required expert cases in two chains.
constexpr size_t kOwnExpertRuns = 2 * 16;
constexpr size_t kOwnRouterCases = 50;

class Components : public ::testing::TestWithParam<std::string> {
 protected:
  // The number of cases that passed; reports the others.
  size_t run(const fs::path& dir, const ComponentOptions& options) {
    const Target target = open_target(GetParam());
    const auto results = verify::verify_components(dir, target.verify(), options);
    if (!results.ok()) {
      ADD_FAILURE() << results.error().to_string();
      return 0;
    }
    size_t passed = 0;
    for (const CaseResult& result : *results) {
      EXPECT_NE(result.outcome, Outcome::kFail)
          << result.name << ": " << result.detail << "\n  measured " << result.measured
          << "\n  allowed " << result.allowed;
      if (result.outcome == Outcome::kPass) ++passed;
    }
    return passed;
  }
};

TEST_P(Components, OwnDataPasses) {
  ComponentOptions options;
  options.skip_missing_files = true;
  EXPECT_GE(run(kOwnData, options), kOwnExpertRuns + kOwnRouterCases);
}

TEST_P(Components, OwnDataPassesThroughExpertPointers) {
  ComponentOptions options;
  options.skip_missing_files = true;
  options.filter = "expert/";
  options.expert_pointers = true;
  EXPECT_GE(run(kOwnData, options), kOwnExpertRuns);
}

TEST_P(Components, AllSmallCasesOfTheFullDataPass) {
  if (!fs::exists(kFullData / "cases.json")) {
    GTEST_SKIP() << kFullData << " is not there; configure with -DMOE_REFERENCE_DIR=...";
  }
  size_t passed = 0;
  for (const char* filter : {"expert/m", "expert/exact", "router/"}) {
    ComponentOptions options;
    options.filter = filter;
    passed += run(kFullData, options);
  }
  EXPECT_GT(passed, kOwnRouterCases);
}

TEST_P(Components, LargeCasesOfTheFullDataPass) {
  if (!fs::exists(kFullData / "cases.json")) {
    GTEST_SKIP() << kFullData << " is not there; configure with -DMOE_REFERENCE_DIR=...";
  }
  if (GetParam() == "ref" || GetParam() != target_names().back()) {
    GTEST_SKIP() << "thousands of millions of products: only the fastest device runs them";
  }
  ComponentOptions options;
  options.filter = "large_";
  EXPECT_GT(run(kFullData, options), 0U);
}

INSTANTIATE_TEST_SUITE_P(Device, Components, ::testing::ValuesIn(target_names()),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace moe::contract
