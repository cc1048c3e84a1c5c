#include <gtest/gtest.h>

#include "base/cpu_facts.hpp"
#include "base/thread_pool.hpp"
#include "providers/provider.hpp"

namespace moe::providers {
namespace {

TEST(OpenDevice, AutoIsTheCpuOfThisBuild) {
  const Result<OpenedDevice> opened = open_device("auto", {});
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_EQ(opened.value().device->facts().name, "cpu");
  EXPECT_EQ(opened.value().device->facts().threads, cpu_facts().allowed_cores);
}

TEST(OpenDevice, KnownKindWithoutProviderNamesWhatIsBuilt) {
  for (const char* name : {"cuda", "rocm", "rocm-sim"}) {
    const Result<OpenedDevice> opened = open_device(name, {});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(opened.error().message.find(name), std::string::npos);
    EXPECT_NE(opened.error().message.find("has: cpu"), std::string::npos);
    EXPECT_NE(opened.error().fix.find("auto, cpu"), std::string::npos);
  }
}

TEST(OpenDevice, UnknownNameGivesNotFound) {
  for (const char* name : {"", "gpu", "CPU", "cpu "}) {
    const Result<OpenedDevice> opened = open_device(name, {});
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
    EXPECT_NE(opened.error().fix.find("cpu"), std::string::npos);
  }
}

TEST(OpenDevice, ThreadCountHasLimits) {
  EXPECT_TRUE(open_device("cpu", {3, "", {}}).ok());
  for (int threads : {-1, ThreadPool::kMaxThreads + 1}) {
    const Result<OpenedDevice> opened = open_device("cpu", {threads, "", {}});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(opened.error().fix.empty());
  }
}

TEST(OpenDevice, UnknownInstructionSetListsTheNames) {
  const Result<OpenedDevice> opened = open_device("cpu", {0, "sse9", {}});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(opened.error().message.find("avx512_bf16, avx512, avx2, portable, ref"),
            std::string::npos);
}

TEST(OpenDevice, VariantsAboveTheForcedInstructionSetAreKeptWithTheirReason) {
  const Result<OpenedDevice> opened = open_device("cpu", {0, "portable", {}});
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  for (const char* name : {"cpu:avx512_bf16", "cpu:avx512", "cpu:avx2"}) {
    int found = 0;
    for (const ops::Unavailable& entry : opened.value().table->unavailable()) {
      if (entry.op != ops::OpId::kLinearBf16 || entry.variant != name) continue;
      ++found;
      EXPECT_TRUE(entry.reason == ops::Refusal::kDisabled ||
                  entry.reason == ops::Refusal::kInstructionSet);
    }
    EXPECT_EQ(found, 1) << name;
  }
}

TEST(ListDevices, NamesEveryKindAndSaysWhyOneIsNotUsable) {
  bool cpu = false;
  for (const DeviceReport& report : list_devices()) {
    EXPECT_FALSE(report.detail.empty()) << report.name;
    EXPECT_EQ(report.usable, report.name == "cpu");
    cpu = cpu || report.name == "cpu";
  }
  EXPECT_TRUE(cpu);
}

}  // namespace
}  // namespace moe::providers
