#include "moe/inspect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/safetensors_writer.hpp"
#include "io/test_files.hpp"

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

// A folder with zero tensors of those shapes and that configuration.
class MadeModel {
 public:
  MadeModel(const std::string& config,
            const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes) {
    folder_.write("config.json", config);
    std::vector<std::vector<std::byte>> data;
    std::vector<io::NamedTensor> tensors;
    for (const auto& [name, shape] : shapes) {
      size_t count = 1;
      for (const int64_t size : shape) count *= static_cast<size_t>(size);
      data.emplace_back(2 * count);
      tensors.push_back({{name, io::StoredType::kBf16, shape}, data.back()});
    }
    EXPECT_TRUE(io::write_checkpoint(folder_.path(), tensors, 1).ok());
  }
  CheckpointInfo inspected() const { return inspect(folder_.path().string()).value(); }

 private:
  io::TestFolder folder_;
};

TEST(Inspect, ACopyOfATiedHeadCountsOnce) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {
      {"model.embed_tokens.weight", {10, 4}},
      {"lm_head.weight", {10, 4}},
      {"model.norm.weight", {4}}};
  const std::string config = R"({"architectures": ["SomethingNew"], "tie_word_embeddings": )";
  const CheckpointInfo tied = MadeModel(config + "true}", shapes).inspected();
  EXPECT_EQ(tied.parameters, 44u);
  EXPECT_EQ(tied.active_parameters, 44u);
  EXPECT_EQ(tied.bytes, 2u * 84u);
  EXPECT_THAT(tied.notes, Contains(HasSubstr("counted once")));
  EXPECT_EQ(MadeModel(config + "false}", shapes).inspected().parameters, 84u);
}

TEST(Inspect, LayersBeyondTheModelAreNotActive) {
  const std::string config =
      R"({"architectures": ["SomethingNew"], "num_hidden_layers": 1, "num_experts": 4, "num_experts_per_tok": 1})";
  const CheckpointInfo info =
      MadeModel(config, {{"model.layers.0.mlp.experts.gate_up_proj", {4, 6, 2}},
                         {"model.layers.0.mlp.gate.weight", {4, 2}},
                         {"model.layers.0.self_attn.rotary_emb.inv_freq", {3}},
                         {"model.layers.1.mlp.experts.gate_up_proj", {4, 6, 2}}})
          .inspected();
  EXPECT_EQ(info.parameters, 48u + 8u + 48u);
  EXPECT_EQ(info.active_parameters, 12u + 8u);
  EXPECT_EQ(part(info, "extra layers")->parameters, 48u);
  EXPECT_EQ(part(info, "buffers")->parameters, 0u);
}

TEST(Inspect, UnknownExpertCountsLeaveTheActivePartOpen) {
  const CheckpointInfo info = MadeModel(R"({"architectures": ["SomethingNew"]})",
                                        {{"model.layers.0.mlp.experts.0.up_proj.weight", {4, 6}}})
                                  .inspected();
  EXPECT_FALSE(info.active_parameters.has_value());
  EXPECT_THAT(info.notes, Contains(HasSubstr("expert counts")));
}

TEST(Inspect, AMissingFolderIsNotFound) {
  const Result<CheckpointInfo> info = inspect("/nonexistent");
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(info.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(info.error().fix.empty());
}

}  // namespace
}  // namespace moe
