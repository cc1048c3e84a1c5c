// Whole models against recorded tokens and logits, through `moe verify`'s own code.
#include "engine_fixture.hpp"
#include "model/catalogue.hpp"
#include "verify/verify.hpp"

namespace moe::golden {
namespace {

verify::VerifyReport run(const std::filesystem::path& dir, const std::string& filter,
                         const std::string& isa = {}) {
  verify::VerifyOptions options;
  options.filter = filter;
  options.device_options.cpu_isa = isa;
  Result<verify::VerifyReport> report = verify::verify_oracle(dir, options, [](const auto& result) {
    EXPECT_NE(result.outcome, verify::Outcome::kFail) << verify::format_case(result);
  });
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().to_string());
  return report.ok() ? std::move(report).value() : verify::VerifyReport{};
}

TEST(Models, BundledCheckpointsGiveTheReferenceTokensAndLogits) {
  const verify::VerifyReport report = run(bundled_oracle(), "models/");
  // Two MoE models in two chains and a dense one.
  EXPECT_EQ(report.count(verify::Outcome::kPass), 5);
  EXPECT_EQ(report.results.size(), 5u);
}

TEST(Models, TheScalarReferencesGiveTheSameModels) {
  EXPECT_EQ(run(bundled_oracle(), "models/", "ref").count(verify::Outcome::kPass), 5);
}

TEST(Models, TheFullOracleFolderPassesOrSkipsByArchitecture) {
  if (!std::filesystem::exists(full_oracle())) {
    GTEST_SKIP() << full_oracle() << " is not there";
  }
  const verify::VerifyReport report = run(full_oracle(), "models/");
  EXPECT_GE(report.count(verify::Outcome::kPass), 5);
  for (const verify::CaseResult& result : report.results) {
    if (result.outcome != verify::Outcome::kSkip) continue;
    EXPECT_NE(result.detail.find("ForCausalLM is not supported yet"), std::string::npos)
        << result.detail;
  }
}

}  // namespace
}  // namespace moe::golden
