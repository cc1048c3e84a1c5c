// Equal bits for every family: each supported model of the full reference folder, alone, in a batch
// and cut into chunks.
#include <fstream>

#include "engine_fixture.hpp"
#include "io/hf_config.hpp"
#include "model/catalogue.hpp"

namespace moe::golden {
namespace {

constexpr int64_t kAnswer = 6;

// The models of the folder whose architecture is in the catalogue.
std::vector<std::filesystem::path> supported_models() {
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(full_oracle() / "models")) {
    const auto config = io::HfConfig::load(entry.path());
    if (!config.ok() || !config->architecture().ok()) continue;
    if (model::find_architecture(*config->architecture()).ok()) models.push_back(entry.path());
  }
  return models;
}

std::unique_ptr<engine::Engine> load_with(const std::filesystem::path& dir, int64_t chunk,
                                          ops::MoeNumerics numerics) {
  engine::EngineOptions options;
  options.device_options.threads = 2;
  options.prefill_chunk = chunk;
  options.moe_numerics = numerics;
  return load(dir, options);
}

void expect_equal_bits(const std::filesystem::path& dir, ops::MoeNumerics numerics) {
  const auto whole = load_with(dir, 128, numerics);
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(whole->model().unread_fields().empty()) << whole->model().unread_fields()[0];
  const int64_t vocab = whole->model().config().vocab_size;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<Trace> expected;
  for (int64_t length : {1, 2, 17, 33, 90}) {
    prompts.push_back(made_prompt(length, vocab, length));
    expected.push_back(trace(*whole, {prompts.back()}, kAnswer)[0]);
  }
  for (int64_t chunk : {1, 5, 16, 128}) {
    const auto cut = load_with(dir, chunk, numerics);
    ASSERT_NE(cut, nullptr);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_TRUE(trace(*cut, {prompts[i]}, kAnswer)[0] == expected[i])
          << "alone, length " << prompts[i].size() << " chunk " << chunk;
    }
    EXPECT_TRUE(trace(*cut, prompts, kAnswer) == expected) << "together, chunk " << chunk;
  }
}

TEST(Families, EveryReferenceModelGivesEqualBitsAloneBatchedAndChunked) {
  if (!std::filesystem::exists(full_oracle())) {
    GTEST_SKIP() << full_oracle() << " is not there";
  }
  const std::vector<std::filesystem::path> models = supported_models();
  EXPECT_FALSE(models.empty());
  for (const std::filesystem::path& dir : models) {
    for (const auto numerics : {ops::MoeNumerics::kNative, ops::MoeNumerics::kLegacy}) {
      SCOPED_TRACE(dir.filename().string() +
                   (numerics == ops::MoeNumerics::kNative ? " native" : " legacy"));
      expect_equal_bits(dir, numerics);
    }
  }
}

// The error of loading qwen2_moe, whose q, k and v have biases, with "qkv_bias": false.
TEST(Families, ABiasThatTheConfigurationDoesNotAskForIsNamed) {
  const std::filesystem::path source = full_oracle() / "models/qwen2_moe";
  if (!std::filesystem::exists(source)) GTEST_SKIP() << source << " is not there";
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "moe_bias_test";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  std::filesystem::copy_file(source / "model.safetensors", dir / "model.safetensors");
  std::ifstream original(source / "config.json");
  std::string text((std::istreambuf_iterator<char>(original)), {});
  text.insert(text.find('{') + 1, "\"qkv_bias\": false,");
  std::ofstream(dir / "config.json") << text;
  const auto loaded = engine::Engine::load(dir, {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(loaded.error().message.find("layers.0.self_attn.q_proj.bias"), std::string::npos)
      << loaded.error().message;
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace moe::golden
