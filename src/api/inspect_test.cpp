#include "moe/inspect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace moe {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

const CheckpointInfo::Part* part(const CheckpointInfo& info, const std::string& name) {
  for (const CheckpointInfo::Part& row : info.parts) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string bundled(const std::string& name) {
  return (fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/models" / name).string();
}

TEST(Inspect, WordnetMoeIsCountedToTheLastParameter) {
  const Result<CheckpointInfo> result =
      inspect((fs::path(MOE_SOURCE_DIR) / "models/wordnet-moe").string());
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  const CheckpointInfo& info = *result;
  // 8 layers, hidden 256, 16 experts top-2 of width 192, 4:2 heads of 64, tied 8192-token
  // embedding.
  const uint64_t experts = 8ULL * 16 * 3 * 192 * 256;
  const uint64_t attention = 8ULL * (256 * 256 * 2 + 128 * 256 * 2);
  const uint64_t norms = 8ULL * (2 * 256 + 2 * 64) + 256;
  const uint64_t router = 8ULL * 16 * 256;
  const uint64_t embedding = 8192ULL * 256;
  EXPECT_EQ(info.parameters, experts + attention + norms + router + embedding);
  EXPECT_EQ(info.active_parameters, experts / 8 + attention + norms + router + embedding);
  EXPECT_EQ(info.bytes, 2 * info.parameters);
  EXPECT_EQ(part(info, "experts")->parameters, experts);
  EXPECT_EQ(part(info, "attention")->parameters, attention);
  EXPECT_EQ(part(info, "norms")->parameters, norms);
  EXPECT_EQ(part(info, "router")->parameters, router);
  EXPECT_EQ(part(info, "head"), nullptr);
  EXPECT_TRUE(info.tied_head);
  EXPECT_TRUE(info.runs_here);
  EXPECT_EQ(info.kv_bytes_per_token, 2 * 8 * 2 * 64 * 2);
  EXPECT_EQ(info.shards.size(), 3u);
  ASSERT_EQ(info.types.size(), 1u);
  EXPECT_EQ(info.types[0].type, "BF16");
  ASSERT_EQ(info.largest.size(), CheckpointInfo::kLargestTensors);
  EXPECT_EQ(info.largest[0].name, "model.embed_tokens.weight");
  EXPECT_THAT(info.configuration, Contains(testing::Pair("num_experts", "16")));
  EXPECT_THAT(info.configuration, Contains(testing::Pair("model_type", "qwen3_moe")));
}

TEST(Inspect, ADenseModelIsWhollyActive) {
  const CheckpointInfo info = inspect(bundled("dense_qwen3")).value();
  EXPECT_EQ(info.active_parameters, info.parameters);
  EXPECT_EQ(part(info, "experts"), nullptr);
}

TEST(Inspect, EveryReferenceModelIsSplitWithoutRemainder) {
  const fs::path models = fs::path(MOE_REFERENCE_DIR) / "oracle/models";
  if (!fs::exists(models)) GTEST_SKIP() << models << " is not there";
  for (const auto& entry : fs::directory_iterator(models)) {
    SCOPED_TRACE(entry.path().string());
    const Result<CheckpointInfo> info = inspect(entry.path().string());
    ASSERT_TRUE(info.ok()) << info.error().to_string();
    EXPECT_EQ(part(*info, "other"), nullptr);
    EXPECT_EQ(part(*info, "extra layers"), nullptr);
    EXPECT_TRUE(info->active_parameters.has_value());
    EXPECT_LE(info->active_parameters.value_or(0), info->parameters);
    uint64_t parameters = 0;
    uint64_t bytes = 0;
    for (const CheckpointInfo::Part& row : info->parts) {
      parameters += row.parameters;
      bytes += row.bytes;
    }
    EXPECT_EQ(parameters, info->parameters);
    EXPECT_EQ(bytes, info->bytes);
    if (info->runs_here) continue;
    EXPECT_THAT(info->notes, Contains(HasSubstr(info->architecture)));
  }
}

TEST(Inspect, AMissingFolderIsNotFound) {
  const Result<CheckpointInfo> info = inspect("/nonexistent");
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(info.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(info.error().fix.empty());
}

}  // namespace
}  // namespace moe
