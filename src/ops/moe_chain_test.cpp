#include "ops/moe_chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace moe::ops {
namespace {

template <class Desc>
Status run_nothing(const Desc&, Device&, Workspace) {
  return {};
}

template <class Desc>
void add(OpTable& table, std::span<const std::string> disabled,
         Refusal (*accepts)(const Desc&) = accepts_all<Desc>) {
  static std::vector<std::unique_ptr<Variant<Desc>>> owned;  // a table keeps the address
  owned.push_back(std::make_unique<Variant<Desc>>(
      Variant<Desc>{"test:any", NumericClass::kLanes16, always_available, accepts,
                    no_workspace<Desc>, run_nothing<Desc>}));
  const Variant<Desc>* variant = owned.back().get();
  table.add<Desc>(std::span(variant, 1), disabled);
}

constexpr MoeShape kShape = {64, 32, 8, 2};
constexpr OpId kProviders[] = {OpId::kMoeGroupedGemmBf16GateUpSilu, OpId::kMoeGroupedGemmBf16,
                               OpId::kMoeGroupedGemmBf16Weighted, OpId::kMoeCombine,
                               OpId::kMoeCombinePreweighted};

void add_all(OpTable& table, std::span<const std::string> disabled) {
  add<MoeGateUpSilu>(table, disabled);
  add<MoeGroupedGemm>(table, disabled);
  add<MoeGroupedGemmWeighted>(table, disabled);
  add<MoeCombine>(table, disabled);
  add<MoeCombinePreweighted>(table, disabled);
}

DeviceFacts facts() { return {DeviceType::kCpu, "testdev", "chip-7", "a test", 1, 0}; }

TEST(MoeChain, OnlyTheFullSetOfFiveSelectsNative) {
  for (unsigned present = 0; present < 32; ++present) {
    std::vector<std::string> disabled;
    std::vector<OpId> missing;
    for (unsigned i = 0; i < 5; ++i) {
      if ((present >> i & 1U) != 0) continue;
      disabled.emplace_back(name_of(kProviders[i]));
      missing.push_back(kProviders[i]);
    }
    OpTable table(facts());
    add_all(table, disabled);
    const MoeChain chain = select_moe_chain(table, kShape, MoeNumerics::kNative);
    EXPECT_EQ(chain.numerics, missing.empty() ? MoeNumerics::kNative : MoeNumerics::kLegacy)
        << present;
    EXPECT_EQ(chain.missing, missing) << present;
    EXPECT_EQ(table.chain_refusals(), missing.size()) << present;
    for (const OpId op : kProviders) {
      const bool absent = std::find(missing.begin(), missing.end(), op) != missing.end();
      EXPECT_EQ(table.chain_refusals(op), absent ? 1U : 0U) << present;
    }
  }
}

TEST(MoeChain, AGateUpProviderWithoutTheNativeChainIsMissing) {
  OpTable table(facts());
  add<MoeGateUpSilu>(
      table, {}, +[](const MoeGateUpSilu& op) {
        return op.numerics == MoeNumerics::kLegacy ? Refusal::kNone : Refusal::kNumericsMode;
      });
  add<MoeGroupedGemm>(table, {});
  add<MoeGroupedGemmWeighted>(table, {});
  add<MoeCombine>(table, {});
  add<MoeCombinePreweighted>(table, {});
  const MoeChain chain = select_moe_chain(table, kShape, MoeNumerics::kNative);
  EXPECT_EQ(chain.numerics, MoeNumerics::kLegacy);
  EXPECT_THAT(chain.missing, ::testing::ElementsAre(OpId::kMoeGroupedGemmBf16GateUpSilu));
}

TEST(MoeChain, TheShapeIsWhatTheModelHas) {
  OpTable narrow(facts());
  add<MoeGateUpSilu>(
      narrow, {}, +[](const MoeGateUpSilu& op) {
        return op.x.cols == 64 && op.gate.rows == 32 && op.gate.experts == 8 ? Refusal::kNone
                                                                             : Refusal::kShape;
      });
  add<MoeGroupedGemm>(
      narrow, {}, +[](const MoeGroupedGemm& op) {
        return op.w.rows == 64 && op.w.cols == 32 ? Refusal::kNone : Refusal::kShape;
      });
  add<MoeGroupedGemmWeighted>(narrow, {});
  add<MoeCombine>(narrow, {});
  add<MoeCombinePreweighted>(
      narrow, {}, +[](const MoeCombinePreweighted& op) {
        return op.slots == 2 && op.y.cols == 64 ? Refusal::kNone : Refusal::kShape;
      });
  EXPECT_EQ(select_moe_chain(narrow, kShape, MoeNumerics::kNative).numerics, MoeNumerics::kNative);
  EXPECT_EQ(select_moe_chain(narrow, {64, 33, 8, 2}, MoeNumerics::kNative).numerics,
            MoeNumerics::kLegacy);
}

TEST(MoeChain, AskingForLegacyCountsNothing) {
  OpTable table(facts());
  const MoeChain chain = select_moe_chain(table, kShape, MoeNumerics::kLegacy);
  EXPECT_EQ(chain.numerics, MoeNumerics::kLegacy);
  EXPECT_TRUE(chain.missing.empty());
  EXPECT_EQ(table.chain_refusals(), 0U);
}

TEST(MoeChain, RefusalsAddUpAndReset) {
  OpTable table(facts());
  select_moe_chain(table, kShape, MoeNumerics::kNative);
  select_moe_chain(table, kShape, MoeNumerics::kNative);
  EXPECT_EQ(table.chain_refusals(), 10U);
  table.reset_counts();
  EXPECT_EQ(table.chain_refusals(), 0U);
}

}  // namespace
}  // namespace moe::ops
