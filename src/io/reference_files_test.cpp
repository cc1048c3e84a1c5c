// The readers on real files: every reference checkpoint, and the corpora of the fuzz targets.
#include <fmt/format.h>

#include "io/checkpoint.hpp"
#include "io/expert_weights.hpp"
#include "io/generation_config.hpp"
#include "io/hf_config.hpp"
#include "io/rope_config.hpp"
#include "io/test_files.hpp"

namespace moe::io {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> reference_models() {
  const fs::path root = MOE_REFERENCE_DIR;
  std::vector<fs::path> models;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "oracle/models", error)) {
    models.push_back(entry.path());
  }
  if (fs::exists(root / "wordnet-moe")) models.push_back(root / "wordnet-moe");
  return models;
}

void expect_opens(const fs::path& model) {
  const auto checkpoint = Checkpoint::open(model, DataAccess::kHeadersOnly);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  EXPECT_FALSE((*checkpoint)->tensors().empty());
  const auto config = HfConfig::load(model);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_THAT(config->architecture().value(), testing::EndsWith("ForCausalLM"));
  EXPECT_EQ(config->dtype().value(), StoredType::kBf16);
  const auto rope = rope_config(*config);
  EXPECT_TRUE(rope.ok()) << rope.error().message;
  const auto generation = GenerationConfig::load(model, *config);
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  EXPECT_FALSE(generation->eos_token_ids.empty());
}

TEST(ReferenceFiles, EveryModelOpens) {
  const auto models = reference_models();
  if (models.empty()) GTEST_SKIP() << "no reference data at " << MOE_REFERENCE_DIR;
  for (const fs::path& model : models) {
    SCOPED_TRACE(model.string());
    expect_opens(model);
  }
}

TEST(ReferenceFiles, EveryOtherTensorFileOpens) {
  const fs::path root = fs::path(MOE_REFERENCE_DIR) / "oracle";
  if (!fs::exists(root)) GTEST_SKIP() << "no reference data at " << root;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto file = SafetensorsFile::open(entry.path(), 0, DataAccess::kHeadersOnly);
    EXPECT_TRUE(file.ok()) << file.error().message;
    ++count;
  }
  EXPECT_GT(count, 0);
}

// Experts of every layer that has some, with the sizes of the configuration.
void expect_experts(const fs::path& model, const ExpertQuery& layout, const char* experts_key,
                    const char* inner_key) {
  const auto checkpoint = Checkpoint::open(model).value();
  const auto config = HfConfig::load(model).value();
  ExpertQuery query = layout;
  query.experts = config.integer(experts_key).value();
  query.intermediate = config.integer(inner_key).value();
  query.hidden = config.integer("hidden_size").value();
  int found = 0;
  for (int64_t layer = 0; layer < config.integer("num_hidden_layers").value(); ++layer) {
    query.prefix = fmt::format("model.layers.{}.{}", layer, layout.prefix);
    const auto weights = find_expert_weights(*checkpoint, query);
    if (!weights.ok() && weights.error().code == ErrorCode::kNotFound) continue;
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_EQ(weights->down.size(), static_cast<size_t>(query.experts));
    ++found;
  }
  EXPECT_GT(found, 0);
}

TEST(ReferenceFiles, ExpertsOfEachLayoutAreFound) {
  const fs::path models = fs::path(MOE_REFERENCE_DIR) / "oracle/models";
  if (!fs::exists(models)) GTEST_SKIP() << "no reference data at " << models;
  ExpertQuery mlp;
  mlp.prefix = "mlp.";
  expect_experts(models / "qwen3_moe_fixture", mlp, "num_experts", "moe_intermediate_size");
  expect_experts(models / "qwen3_moe_varied", mlp, "num_experts", "moe_intermediate_size");
  expect_experts(models / "deepseek_v3", mlp, "n_routed_experts", "moe_intermediate_size");
  expect_experts(models / "olmoe", mlp, "num_experts", "intermediate_size");
  ExpertQuery block;
  block.prefix = "block_sparse_moe.";
  expect_experts(models / "granitemoe", block, "num_local_experts", "intermediate_size");
  block.names = kMixtralExpertNames;
  expect_experts(models / "mixtral", block, "num_local_experts", "intermediate_size");
  mlp.stack_layout = StackLayout::kInOut;
  expect_experts(models / "gpt_oss", mlp, "num_local_experts", "intermediate_size");
}

TEST(ReferenceFiles, FuzzCorpusIsReadWithoutACrash) {
  const fs::path corpus = fs::path(MOE_SOURCE_DIR) / "tests/fuzz/corpus/safetensors";
  int valid = 0;
  int broken = 0;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const auto map = FileMap::open(entry.path()).value();
    ++(parse_safetensors(map->bytes(), "corpus").ok() ? valid : broken);
  }
  EXPECT_GT(valid, 0);
  EXPECT_GT(broken, 0);
}

}  // namespace
}  // namespace moe::io
