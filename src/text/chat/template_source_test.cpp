#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "text/chat/chat_template.hpp"

namespace moe::text {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TemplateSource : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / (std::string("moe_template_source_") +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string error(bool for_tools = false) const {
    const auto source = load_chat_template(folder_, for_tools);
    return source.ok() ? "no error" : source.error().to_string();
  }

  fs::path folder_;
};

TEST_F(TemplateSource, JinjaFileComesBeforeTheConfig) {
  write("chat_template.jinja", "from file");
  write("tokenizer_config.json", R"({"chat_template": "from config", "bos_token": "<s>",
        "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null})");
  const auto source = load_chat_template(folder_, false);
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  EXPECT_EQ(source->text, "from file");
  EXPECT_THAT(source->name, HasSubstr("chat_template.jinja"));
  EXPECT_EQ(source->special_tokens, Json({{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
}

TEST_F(TemplateSource, ConfigTextOrNamedList) {
  write("tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(load_chat_template(folder_, true)->text, "one");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "d"},
        {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(load_chat_template(folder_, false)->text, "d");
  EXPECT_EQ(load_chat_template(folder_, true)->text, "t");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "d"}]})");
  EXPECT_EQ(load_chat_template(folder_, true)->text, "d");
}

TEST_F(TemplateSource, MissingTemplateIsNotFoundWithFix) {
  EXPECT_THAT(error(), HasSubstr("not_found"));
  EXPECT_THAT(error(), HasSubstr("fix: add chat_template.jinja"));
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_THAT(error(), HasSubstr("there is no chat template"));
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"}]})");
  EXPECT_THAT(error(), HasSubstr("no template is named \"default\""));
}

TEST_F(TemplateSource, MalformedConfigIsCorrupt) {
  for (const char* text : {R"({"chat_template": 5})", R"({"chat_template": ["x"]})",
                           R"({"chat_template": [{"name": "default"}]})", R"([])", R"({)",
                           R"({"chat_template": "x", "bos_token": 5})"}) {
    write("tokenizer_config.json", text);
    EXPECT_THAT(error(), HasSubstr("corrupt")) << text;
  }
}

}  // namespace
}  // namespace moe::text
