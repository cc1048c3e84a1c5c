#include "providers/cpu/cpu_device.hpp"

#include <set>

#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

TEST(CpuDevice, CountsWhatIsAllocatedAndTheMost) {
  CpuDevice device(1, Isa::kPortable);
  {
    const Buffer a = device.allocate(1000).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0U);
    EXPECT_EQ(device.allocated_bytes(), 1000U);
    {
      const Buffer b = device.allocate((uint64_t{2} << 20) + 1).value();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0U);
      EXPECT_EQ(device.allocated_bytes(), 1001U + (uint64_t{2} << 20));
    }
    EXPECT_EQ(device.allocated_bytes(), 1000U);
    const Buffer empty = device.allocate(0).value();
    EXPECT_NE(empty.data(), nullptr);
  }
  EXPECT_EQ(device.allocated_bytes(), 0U);
  EXPECT_EQ(device.peak_allocated_bytes(), 1001U + (uint64_t{2} << 20));
}

TEST(CpuDevice, MoreMemoryThanThereIsGivesOutOfMemory) {
  CpuDevice device(1, Isa::kPortable);
  for (uint64_t bytes : {device.facts().memory_bytes + 1, ~uint64_t{0}}) {
    const Result<Buffer> buffer = device.allocate(bytes);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
    EXPECT_NE(buffer.error().message.find(std::to_string(bytes)), std::string::npos);
    EXPECT_FALSE(buffer.error().fix.empty());
  }
  EXPECT_EQ(device.allocated_bytes(), 0U);
}

TEST(CpuDevice, CopiesBothWays) {
  CpuDevice device(1, Isa::kPortable);
  const Buffer buffer = device.allocate(8).value();
  const uint64_t value = 0x0123456789abcdefU;
  uint64_t back = 0;
  ASSERT_TRUE(device.copy_to_device(buffer.data(), &value, 8).ok());
  ASSERT_TRUE(device.copy_to_host(&back, buffer.data(), 8).ok());
  EXPECT_EQ(back, value);
  EXPECT_TRUE(device.copy_to_host(nullptr, nullptr, 0).ok());
}

TEST(CpuDevice, EveryTaskRunsOnceWithASlotOfItsOwn) {
  for (int threads : {1, 2, 4}) {
    CpuDevice device(threads, Isa::kPortable);
    for (int64_t count : {0, 1, 3, 100}) {
      for (int64_t work : {int64_t{1}, kMinParallelWork}) {
        std::vector<std::atomic<int>> runs(100);
        std::vector<std::atomic<int>> in_slot(static_cast<size_t>(threads));
        std::atomic<bool> shared{false};
        device.for_tasks(count, work, [&](int64_t task, int64_t slot) {
          if (in_slot[static_cast<size_t>(slot)].fetch_add(1) != 0) shared = true;
          runs[static_cast<size_t>(task)].fetch_add(1);
          in_slot[static_cast<size_t>(slot)].fetch_sub(1);
        });
        EXPECT_FALSE(shared);
        for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(runs[static_cast<size_t>(i)], i < count);
      }
    }
    for (int64_t count : {0, 1, 15, 16, 17, 1000}) {
      std::vector<std::atomic<int>> runs(1000);
      device.for_items(count, kMinParallelWork, [&](int64_t i) { runs[static_cast<size_t>(i)]++; });
      for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(runs[static_cast<size_t>(i)], i < count);
    }
  }
}

// The names registered for one op, best first.
std::vector<std::string> variants_of(const OpenedDevice& opened, ops::OpId op) {
  std::vector<std::string> names;
  for (const ops::VariantCount& row : opened.table->counts()) {
    if (row.op == op) names.push_back(row.variant);
  }
  return names;
}

TEST(CpuVariants, NamingAnInstructionSetLeavesOutTheBetterOnes) {
  const OpenedDevice portable = open_or_fail({1, "portable", {}});
  EXPECT_EQ(variants_of(portable, ops::OpId::kLinearBf16),
            (std::vector<std::string>{"cpu:portable", "ref"}));
  EXPECT_EQ(portable.device->facts().architecture.find("avx"), std::string::npos);
  const OpenedDevice reference = open_or_fail({1, "ref", {}});
  for (int op = 0; op < ops::kOpCount; ++op) {
    EXPECT_EQ(variants_of(reference, static_cast<ops::OpId>(op)),
              (std::vector<std::string>{"ref"}));
  }
  if (!runs_here(Isa::kAvx2)) GTEST_SKIP() << "the processor has no AVX2";
  const OpenedDevice avx2 = open_or_fail({1, "avx2", {}});
  EXPECT_EQ(variants_of(avx2, ops::OpId::kMoeGroupedGemmBf16),
            (std::vector<std::string>{"cpu:avx2", "cpu:portable", "ref"}));
}

TEST(CpuVariants, EveryOpHasAVariantAndNoneIsRefused) {
  OpenedDevice opened = open_or_fail({1, "", {}});
  std::set<ops::OpId> seen;
  for (const ops::VariantCount& row : opened.table->counts()) seen.insert(row.op);
  EXPECT_EQ(seen.size(), static_cast<size_t>(ops::kOpCount));
  Matrix x = Matrix::random(2, 32, 1);
  Matrix y(2, 2);
  ASSERT_TRUE(run_on(opened, ops::Linear{x.view(), x.view(), {}, y.view()}).ok());
  for (const ops::VariantCount& row : opened.table->counts()) {
    EXPECT_EQ(row.fallbacks, 0U);
    for (uint64_t refused : row.refused) EXPECT_EQ(refused, 0U);
  }
}

TEST(CpuVariants, DisabledOnesAreNotRegistered) {
  const OpenedDevice opened =
      open_or_fail({1, "portable", {"kMoeCombine", "kLinearBf16=cpu:portable"}});
  EXPECT_TRUE(variants_of(opened, ops::OpId::kMoeCombine).empty());
  EXPECT_EQ(variants_of(opened, ops::OpId::kLinearBf16), std::vector<std::string>{"ref"});
}

}  // namespace
}  // namespace moe::providers::cpu::test
