// The gate of the project's reason to exist: a real checkpoint, loaded by the public API, reaches
// the native expert operations, all of them and nothing else. Taking any of the five away must
// fail the gate.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "moe/moe.hpp"
#include "verify/json_file.hpp"

namespace moe::golden {
namespace {

const std::vector<std::string> kFiveProviders = {
    "kMoeGroupedGemmBf16GateUpSilu", "kMoeGroupedGemmBf16", "kMoeGroupedGemmBf16Weighted",
    "kMoeCombine", "kMoeCombinePreweighted"};
// What a native forward pass selects of them.
const std::vector<std::string> kNativeChain = {"kMoeGroupedGemmBf16GateUpSilu",
                                               "kMoeGroupedGemmBf16Weighted",
                                               "kMoeCombinePreweighted"};
const std::vector<std::string> kLegacyChain = {"kMoeGroupedGemmBf16GateUpSilu", "kMoeGroupedGemmBf16",
                                               "kMoeCombine"};

std::string fixture_dir() {
  return std::string(MOE_SOURCE_DIR) + "/tests/data/oracle/models/qwen3_moe_fixture";
}

Result<Model> load_without(const std::vector<std::string>& disabled) {
  LoadOptions options;
  options.device_options.disabled = disabled;
  return Model::load(fixture_dir(), options);
}

struct Expectation {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::vector<int32_t>> tokens;
};

Expectation expectation() {
  const Json json = verify::read_json_file(fixture_dir() + "/expect.json").value();
  return {json["prompts"].get<std::vector<std::vector<int32_t>>>(),
          json["tokens"]["native"].get<std::vector<std::vector<int32_t>>>()};
}

Request greedy(const std::vector<int32_t>& prompt) {
  Request request;
  request.prompt = prompt;
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 8;
  request.sampling.ignore_eos = true;
  return request;
}

struct Totals {
  uint64_t selected = 0;
  uint64_t refused = 0;
  uint64_t fallbacks = 0;
};

std::map<std::string, Totals> totals_by_op(const Model& model) {
  std::map<std::string, Totals> totals;
  for (const OpCount& row : model.op_counts()) {
    Totals& total = totals[row.op];
    total.selected += row.selected;
    total.fallbacks += row.fallbacks;
    for (const auto& [reason, count] : row.refused) total.refused += count;
  }
  return totals;
}

// Why the gate does not hold for a loaded model, or "". Runs the prompts alone and two at once.
std::string gate_problem(Model& model) {
  const Expectation expected = expectation();
  model.reset_op_counts();
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (size_t i = 0; i < expected.prompts.size(); ++i) {
      const auto alone = model.generate(greedy(expected.prompts[i]));
      if (!alone.ok()) return alone.error().to_string();
      if (alone->tokens != expected.tokens[i]) return "wrong tokens alone";
      const size_t other = (i + 1) % expected.prompts.size();
      const auto pair = model.generate(
          std::vector<Request>{greedy(expected.prompts[i]), greedy(expected.prompts[other])});
      if (!pair.ok()) return pair.error().to_string();
      if ((*pair)[0].tokens != expected.tokens[i] || (*pair)[1].tokens != expected.tokens[other]) {
        return "wrong tokens in a pair";
      }
    }
  }
  const auto totals = totals_by_op(model);
  for (const std::string& op : kNativeChain) {
    const auto found = totals.find(op);
    if (found == totals.end() || found->second.selected == 0) return op + " was never selected";
  }
  for (const auto& [op, total] : totals) {
    if (total.refused != 0 || total.fallbacks != 0) return op + " was refused or fell back";
  }
  if (!model.chain_refusals().empty()) return "the native chain was refused";
  if (model.info().expert_numerics != "native") return "the chain is " + model.info().expert_numerics;
  return {};
}

TEST(Reachability, TheFixtureRunsOnTheNativeExpertOperations) {
  const Expectation expected = expectation();
  ASSERT_EQ(expected.prompts.size(), 3u);
  EXPECT_EQ(expected.prompts[0].size(), 1u);
  EXPECT_EQ(expected.prompts[1].size(), 3u);
  EXPECT_EQ(expected.prompts[2].size(), 33u);
  Result<Model> model = load_without({});
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(gate_problem(*model), "");
  // The legacy chain's own operations were not touched.
  const auto totals = totals_by_op(*model);
  EXPECT_EQ(totals.at("kMoeGroupedGemmBf16").selected, 0u);
  EXPECT_EQ(totals.at("kMoeCombine").selected, 0u);
}

TEST(Reachability, TakingAnyOfTheFiveAwayFailsTheGate) {
  for (const std::string& op : kFiveProviders) {
    Result<Model> model = load_without({op});
    if (!model.ok()) {
      // The legacy chain needs it, too: refused by name at load.
      EXPECT_NE(model.error().message.find(op), std::string::npos) << model.error().message;
      continue;
    }
    EXPECT_NE(gate_problem(*model), "") << op;
  }
}

// Every subset of the five: only the full set is native; the others are the complete legacy chain,
// with each missing provider counted, or an error that names what even legacy needs.
TEST(Reachability, EveryProperSubsetGivesTheCompleteLegacyChain) {
  const Expectation expected = expectation();
  LoadOptions legacy_options;
  legacy_options.numerics = Numerics::kLegacy;
  Result<Model> legacy = Model::load(fixture_dir(), legacy_options);
  ASSERT_TRUE(legacy.ok());
  const auto logits_of = [&](Model& model) {
    std::vector<float> logits;
    Request request = greedy(expected.prompts[2]);
    request.on_logits = [&](const LogitRows& rows) {
      logits.insert(logits.end(), rows.values.begin(), rows.values.end());
    };
    EXPECT_TRUE(model.generate(std::move(request)).ok());
    return logits;
  };
  const std::vector<float> legacy_logits = logits_of(*legacy);
  int native = 0;
  int complete_legacy = 0;
  int refused = 0;
  for (unsigned subset = 0; subset < 32; ++subset) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < 5; ++i) {
      if ((subset >> i & 1U) == 0) missing.push_back(kFiveProviders[i]);
    }
    Result<Model> model = load_without(missing);
    const auto is_missing = [&](const std::string& op) {
      return std::find(missing.begin(), missing.end(), op) != missing.end();
    };
    if (std::any_of(kLegacyChain.begin(), kLegacyChain.end(), is_missing)) {
      ASSERT_FALSE(model.ok()) << subset;
      const std::string& message = model.error().message;
      EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
      EXPECT_TRUE(std::any_of(kLegacyChain.begin(), kLegacyChain.end(), [&](const std::string& op) {
        return is_missing(op) && message.find(op) != std::string::npos;
      })) << message;
      EXPECT_NE(message.find("device cpu"), std::string::npos) << message;
      ++refused;
      continue;
    }
    ASSERT_TRUE(model.ok()) << subset << ": " << model.error().to_string();
    if (missing.empty()) {
      EXPECT_EQ(model->info().expert_numerics, "native");
      EXPECT_TRUE(model->chain_refusals().empty());
      ++native;
      continue;
    }
    EXPECT_EQ(model->info().expert_numerics, "legacy");
    EXPECT_EQ(model->info().missing_ops, missing);
    std::vector<std::string> counted;
    for (const ChainRefusal& refusal : model->chain_refusals()) {
      EXPECT_EQ(refusal.count, 1u);
      counted.push_back(refusal.op);
    }
    EXPECT_EQ(counted, missing);
    EXPECT_EQ(logits_of(*model), legacy_logits) << subset;
    const auto totals = totals_by_op(*model);
    for (const std::string op : {"kMoeGroupedGemmBf16Weighted", "kMoeCombinePreweighted"}) {
      const auto found = totals.find(op);
      EXPECT_TRUE(found == totals.end() || found->second.selected == 0) << op;
    }
    ++complete_legacy;
  }
  EXPECT_EQ(native, 1);
  EXPECT_EQ(complete_legacy, 3);  // without weighted, without pre-weighted combine, without both
  EXPECT_EQ(refused, 28);
}

}  // namespace
}  // namespace moe::golden
