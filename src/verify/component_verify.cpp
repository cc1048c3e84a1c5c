#include "verify/component_verify.hpp"

#include <fmt/format.h>

#include <chrono>
#include <new>

#include "base/errors.hpp"
#include "verify/component_cases.hpp"
#include "verify/component_runs.hpp"

namespace moe::verify {
namespace {

namespace fs = std::filesystem;

// Collects results; each case runs behind the same handling of errors and absent files.
class CaseRunner {
 public:
  CaseRunner(const fs::path& dir, const ComponentOptions& options) : dir_(dir), options_(options) {}

  // `run` gives a Result<Finding>.
  template <class Run>
  void run(const std::string& name, const std::string& file, bool required, const Run& run_case) {
    if (name.find(options_.filter) == std::string::npos) return;
    CaseResult result;
    result.name = name;
    const auto begin = std::chrono::steady_clock::now();
    std::error_code ignored;
    if (options_.skip_missing_files && !fs::exists(dir_ / file, ignored)) {
      result.outcome = Outcome::kSkip;
      result.detail = fmt::format("{} is not in this folder", file);
    } else {
      judge(result, required, guarded(name, run_case));
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    result.seconds = elapsed.count();
    results_.push_back(result);
    if (options_.on_result) options_.on_result(result);
  }

  std::vector<CaseResult> take() { return std::move(results_); }

 private:
  template <class Run>
  static Result<Finding> guarded(const std::string& name, const Run& run_case) {
    try {
      return run_case();
    } catch (const std::bad_alloc&) {
      return out_of_memory(
          fmt::format("case {} does not fit into the memory of this machine", name),
          "run it on a machine with more memory");
    }
  }

  static void judge(CaseResult& result, bool required, Result<Finding> found) {
    if (!found.ok()) {
      result.outcome = Outcome::kFail;
      result.detail = found.error().to_string();
      return;
    }
    result.measured = found->measured;
    result.allowed = found->allowed;
    result.detail = found->detail;
    result.outcome = found->ok ? Outcome::kPass : Outcome::kFail;
    if (found->ok || required) return;
    result.outcome = Outcome::kSkip;
    result.detail = "informational: " + result.detail;
  }

  fs::path dir_;
  const ComponentOptions& options_;
  std::vector<CaseResult> results_;
};

}  // namespace

Result<std::vector<CaseResult>> verify_components(const fs::path& components_dir,
                                                  VerifyDevice target,
                                                  const ComponentOptions& options) {
  const ComponentCases cases = TRY(read_component_cases(components_dir / "cases.json"));
  constexpr std::pair<ops::MoeNumerics, const char*> kChains[] = {
      {ops::MoeNumerics::kNative, "native"}, {ops::MoeNumerics::kLegacy, "legacy"}};
  CaseRunner runner(components_dir, options);
  for (const ExpertCase& test : cases.experts) {
    for (const auto& entry : kChains) {
      const ops::MoeNumerics numerics = entry.first;
      const char* chain = entry.second;
      runner.run(fmt::format("expert/{}/{}", test.name, chain), test.file, test.required,
                 [&] { return run_expert_case(test, numerics, components_dir, target, options); });
    }
  }
  for (const LargeCase& test : cases.large) {
    for (const auto& entry : kChains) {
      const ops::MoeNumerics numerics = entry.first;
      const char* chain = entry.second;
      runner.run(fmt::format("expert/{}/{}", test.block.name, chain), test.block.file,
                 test.block.required,
                 [&] { return run_large_case(test, numerics, components_dir, target, options); });
    }
  }
  for (const RouterCase& test : cases.routers) {
    runner.run(fmt::format("router/{}", test.name), test.file, true,
               [&] { return run_router_case(test, components_dir, target); });
  }
  return runner.take();
}

}  // namespace moe::verify
