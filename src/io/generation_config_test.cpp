#include "io/generation_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/test_files.hpp"

namespace moe::io {
namespace {

using testing::ElementsAre;

Result<GenerationConfig> generation_of(std::string_view text, std::string_view config = "{}") {
  return GenerationConfig::parse(text, "generation_config.json",
                                 HfConfig::parse(config, "config.json").value());
}

TEST(GenerationConfig, EveryFieldIsRead) {
  const auto got =
      generation_of(
          R"({"eos_token_id":[3,5,3],"bos_token_id":1,"pad_token_id":0,"do_sample":true,
          "temperature":0.6,"top_k":20,"top_p":0.95,"min_p":0.05,"repetition_penalty":1.05,
          "max_new_tokens":64,"transformers_version":"5","unknown":{}})")
          .value();
  EXPECT_THAT(got.eos_token_ids, ElementsAre(3, 5));
  EXPECT_EQ(got.bos_token_id, 1);
  EXPECT_EQ(got.pad_token_id, 0);
  EXPECT_EQ(got.do_sample, true);
  EXPECT_EQ(got.temperature, 0.6);
  EXPECT_EQ(got.top_k, 20);
  EXPECT_EQ(got.top_p, 0.95);
  EXPECT_EQ(got.min_p, 0.05);
  EXPECT_EQ(got.repetition_penalty, 1.05);
  EXPECT_EQ(got.max_new_tokens, 64);
}

TEST(GenerationConfig, IdsFallBackToTheModelsConfig) {
  const char* config = R"({"eos_token_id":[7,8],"bos_token_id":6,"pad_token_id":-1})";
  const auto got = generation_of(R"({"bos_token_id":2})", config).value();
  EXPECT_THAT(got.eos_token_ids, ElementsAre(7, 8));
  EXPECT_EQ(got.bos_token_id, 2);
  EXPECT_FALSE(got.pad_token_id.has_value());
  EXPECT_FALSE(got.temperature.has_value());
  EXPECT_THAT(generation_of(R"({"eos_token_id":9})", config).value().eos_token_ids, ElementsAre(9));
}

TEST(GenerationConfig, ValuesAtTheirLimitsPassAndOutsideAreCorrupt) {
  for (const char* text : {R"({"top_k":-1})", R"({"top_k":0})", R"({"top_p":0})", R"({"top_p":1})",
                           R"({"min_p":1})", R"({"temperature":0})", R"({"temperature":100})",
                           R"({"max_new_tokens":1})", R"({"eos_token_id":2147483647})"}) {
    EXPECT_TRUE(generation_of(text).ok()) << text;
  }
  EXPECT_EQ(generation_of(R"({"top_k":-1})").value().top_k, 0);
  for (const char* text :
       {R"({"top_k":-2})", R"({"top_p":1.01})", R"({"top_p":-0.1})", R"({"min_p":2})",
        R"({"temperature":-1})", R"({"temperature":100.5})", R"({"repetition_penalty":0})",
        R"({"max_new_tokens":0})", R"({"eos_token_id":2147483648})", R"({"eos_token_id":[-1]})",
        R"({"eos_token_id":-2})", R"({"eos_token_id":"x"})", R"({"bos_token_id":[1]})",
        R"({"do_sample":1})", R"({"temperature":"hot"})"}) {
    expect_error(generation_of(text), ErrorCode::kCorrupt, "generation_config.json: ");
  }
  expect_error(generation_of("[]"), ErrorCode::kCorrupt, "wanted a JSON object");
  expect_error(generation_of("{}", R"({"eos_token_id":{}})"), ErrorCode::kCorrupt,
               "config.json: eos_token_id is an object");
}

TEST(GenerationConfig, EosListAtTheLimitPassesAndOnePastItIsCorrupt) {
  const auto list = [](size_t n) {
    std::vector<size_t> ids(n);
    for (size_t i = 0; i < n; ++i) ids[i] = i;
    return fmt::format(R"({{"eos_token_id":[{}]}})", fmt::join(ids, ","));
  };
  EXPECT_EQ(generation_of(list(kMaxEosTokens)).value().eos_token_ids.size(), kMaxEosTokens);
  expect_error(generation_of(list(kMaxEosTokens + 1)), ErrorCode::kCorrupt,
               "at most 1024 token ids");
}

TEST(GenerationConfig, FileMayBeAbsentButNotBroken) {
  const TestFolder folder;
  const auto config = HfConfig::parse(R"({"eos_token_id":4})", "config.json").value();
  EXPECT_THAT(GenerationConfig::load(folder.path(), config).value().eos_token_ids, ElementsAre(4));
  folder.write("generation_config.json", R"({"eos_token_id":5})");
  EXPECT_THAT(GenerationConfig::load(folder.path(), config).value().eos_token_ids, ElementsAre(5));
  folder.write("generation_config.json", "{");
  expect_error(GenerationConfig::load(folder.path(), config), ErrorCode::kCorrupt, "syntax error");
}

}  // namespace
}  // namespace moe::io
