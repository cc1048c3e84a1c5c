#include "io/hf_config.hpp"

#include "io/test_files.hpp"

namespace moe::io {
namespace {

HfConfig config_of(std::string_view text) { return HfConfig::parse(text, "config.json").value(); }

TEST(HfConfig, ArchitectureIsTheFirstName) {
  EXPECT_EQ(config_of(R"({"architectures":["A","B"]})").architecture().value(), "A");
  expect_error(config_of("{}").architecture(), ErrorCode::kCorrupt, "architectures is missing");
  expect_error(config_of(R"({"architectures":[]})").architecture(), ErrorCode::kCorrupt,
               "config.json: architectures is [], wanted a list with the model's class name");
  expect_error(config_of(R"({"architectures":[""]})").architecture(), ErrorCode::kCorrupt,
               "wanted");
  expect_error(config_of(R"({"architectures":"A"})").architecture(), ErrorCode::kCorrupt,
               "architectures is \"A\", wanted an array of strings");
}

TEST(HfConfig, DtypeComesUnderEitherName) {
  EXPECT_EQ(config_of("{}").dtype().value(), std::nullopt);
  EXPECT_EQ(config_of(R"({"torch_dtype":"bfloat16"})").dtype().value(), StoredType::kBf16);
  EXPECT_EQ(config_of(R"({"dtype":"torch.float16"})").dtype().value(), StoredType::kF16);
  EXPECT_EQ(config_of(R"({"dtype":"float32","torch_dtype":"float32"})").dtype().value(),
            StoredType::kF32);
  expect_error(config_of(R"({"dtype":"float32","torch_dtype":"bfloat16"})").dtype(),
               ErrorCode::kCorrupt, "torch_dtype is BF16, but dtype is F32");
  expect_error(config_of(R"({"dtype":"int3"})").dtype(), ErrorCode::kUnsupported,
               "config.json: dtype is \"int3\"");
  expect_error(config_of(R"({"dtype":16})").dtype(), ErrorCode::kCorrupt, "wanted a string");
}

TEST(HfConfig, LoadReadsTheFolder) {
  const TestFolder folder;
  expect_error(HfConfig::load(folder.path()), ErrorCode::kNotFound, "config.json: no such file");
  folder.write("config.json", R"({"hidden_size":64})");
  EXPECT_EQ(HfConfig::load(folder.path()).value().integer("hidden_size").value(), 64);
  folder.write("config.json", R"({"hidden_size":"64"})");
  expect_error(HfConfig::load(folder.path()).value().integer("hidden_size"), ErrorCode::kCorrupt,
               (folder / "config.json").string() + ": hidden_size is \"64\"");
}

}  // namespace
}  // namespace moe::io
