#include "ops/op_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moe::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Status run_nothing(const Linear&, Device&, Workspace) { return {}; }
Refusal needs_many_rows(const Linear& op) {
  return op.x.rows >= 8 ? Refusal::kNone : Refusal::kShape;
}
Refusal refuses_dtype(const Linear&) { return Refusal::kDtype; }
Refusal no_instructions(const DeviceFacts&) { return Refusal::kInstructionSet; }
uint64_t small(const Linear&, const DeviceFacts&) { return 16; }
uint64_t large(const Linear& op, const DeviceFacts& facts) {
  return static_cast<uint64_t>(op.x.rows * facts.threads);
}

using LinearVariant = Variant<Linear>;
constexpr LinearVariant kLinears[] = {
    {"test:missing", NumericClass::kLanes16, no_instructions, accepts_all<Linear>, small,
     run_nothing},
    {"test:fast", NumericClass::kLanes16, always_available, needs_many_rows, large, run_nothing},
    {"test:plain", NumericClass::kLanes16, always_available, accepts_all<Linear>, small,
     run_nothing}};

DeviceFacts facts() { return {DeviceType::kCpu, "testdev", "chip-7", "a test", 4, 0}; }

Linear rows(int64_t count) {
  Linear op;
  op.x.rows = count;
  return op;
}

const VariantCount& count_of(const std::vector<VariantCount>& counts, std::string_view name) {
  for (const VariantCount& count : counts) {
    if (count.variant == name) return count;
  }
  ADD_FAILURE() << "no counter of " << name;
  return counts.front();
}

TEST(OpTable, FirstVariantThatAcceptsIsSelected) {
  OpTable table(facts());
  table.add<Linear>(kLinears);
  EXPECT_EQ(table.select(rows(8)).value()->name, "test:fast");
  EXPECT_EQ(table.select(rows(7)).value()->name, "test:plain");
  EXPECT_EQ(table.find(rows(8))->name, "test:fast");
}

TEST(OpTable, SelectionsRefusalsAndFallbacksAreCounted) {
  OpTable table(facts());
  table.add<Linear>(kLinears);
  for (const int64_t count : {8, 9, 1}) ASSERT_TRUE(table.select(rows(count)).ok());
  table.find(rows(1));  // not counted
  auto counts = table.counts();
  const VariantCount& fast = count_of(counts, "test:fast");
  EXPECT_EQ(fast.op, OpId::kLinearBf16);
  EXPECT_EQ(fast.device, "testdev");
  EXPECT_EQ(fast.selected, 2U);
  EXPECT_EQ(fast.fallbacks, 0U);
  EXPECT_EQ(fast.refused[static_cast<size_t>(Refusal::kShape)], 1U);
  const VariantCount& plain = count_of(counts, "test:plain");
  EXPECT_EQ(plain.selected, 1U);
  EXPECT_EQ(plain.fallbacks, 1U);
  table.reset_counts();
  counts = table.counts();
  EXPECT_EQ(count_of(counts, "test:plain").selected, 0U);
  EXPECT_EQ(count_of(counts, "test:plain").fallbacks, 0U);
  EXPECT_EQ(count_of(counts, "test:fast").refused[static_cast<size_t>(Refusal::kShape)], 0U);
}

TEST(OpTable, WhatTheDeviceCannotRunIsListedAndNotCounted) {
  OpTable table(facts());
  table.add<Linear>(kLinears);
  ASSERT_EQ(table.unavailable().size(), 1U);
  EXPECT_EQ(table.unavailable()[0].variant, "test:missing");
  EXPECT_EQ(table.unavailable()[0].reason, Refusal::kInstructionSet);
  EXPECT_EQ(table.counts().size(), 2U);
}

TEST(OpTable, MissingProviderNamesOpDeviceAndArchitecture) {
  OpTable table(facts());
  const auto result = table.select(rows(1));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, HasSubstr("kLinearBf16"));
  EXPECT_THAT(result.error().message, HasSubstr("testdev"));
  EXPECT_THAT(result.error().message, HasSubstr("chip-7"));
  EXPECT_FALSE(result.error().fix.empty());
  EXPECT_EQ(table.find(rows(1)), nullptr);
}

TEST(OpTable, RefusalByAllNamesEachReason) {
  const LinearVariant refusing[] = {
      {"test:odd", NumericClass::kLanes16, always_available, refuses_dtype, small, run_nothing},
      {"test:wide", NumericClass::kLanes16, always_available, needs_many_rows, small, run_nothing},
      {"test:new", NumericClass::kLanes16, no_instructions, accepts_all<Linear>, small,
       run_nothing}};
  OpTable table(facts());
  table.add<Linear>(refusing);
  const auto result = table.select(rows(1));
  ASSERT_FALSE(result.ok());
  const std::string& message = result.error().message;
  EXPECT_THAT(message, HasSubstr("test:odd refused: element type not supported"));
  EXPECT_THAT(message, HasSubstr("test:wide refused: shape not supported"));
  EXPECT_THAT(message, HasSubstr("test:new unavailable: the processor lacks the instructions"));
}

TEST(OpTable, DisabledByOpVariantOrBoth) {
  const auto selected = [](const std::string& disabled) {
    OpTable table(facts());
    const std::vector<std::string> names = {disabled};
    table.add<Linear>(kLinears, names);
    const auto result = table.select(rows(8));
    return result.ok() ? std::string(result.value()->name) : result.error().message;
  };
  EXPECT_EQ(selected("test:fast"), "test:plain");
  EXPECT_EQ(selected("kLinearBf16=test:fast"), "test:plain");
  EXPECT_EQ(selected("kRope=test:fast"), "test:fast");
  EXPECT_EQ(selected("kRope"), "test:fast");
  EXPECT_THAT(selected("kLinearBf16"), HasSubstr("test:fast unavailable: disabled by the user"));
}

TEST(OpTable, WorkspaceIsTheLargestOfThoseThatAccept) {
  OpTable table(facts());
  table.add<Linear>(kLinears);
  EXPECT_EQ(table.workspace_bytes(rows(100)).value(), 400U);
  EXPECT_EQ(table.workspace_bytes(rows(1)).value(), 16U);
  OpTable empty(facts());
  EXPECT_FALSE(empty.workspace_bytes(rows(1)).ok());
}

TEST(OpTable, EveryOpAndRefusalHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int id = 0; id < kOpCount; ++id) {
    const std::string_view name = name_of(static_cast<OpId>(id));
    EXPECT_THAT(names, Not(::testing::Contains(name)));
    EXPECT_EQ(name[0], 'k');
    names.push_back(name);
  }
  for (int reason = 0; reason < kRefusalCount; ++reason) {
    EXPECT_NE(name_of(static_cast<Refusal>(reason)), "?");
  }
}

}  // namespace
}  // namespace moe::ops
