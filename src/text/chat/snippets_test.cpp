// The language itself: snippets and whole templates of ours against what jinja2 gives for them, set
// up as transformers does (tests/data/text/templates).
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "text/chat/chat_template.hpp"

namespace moe::text {
namespace {

std::string data_file(const std::string& name) {
  std::ifstream file(std::filesystem::path(MOE_SOURCE_DIR) / "tests/data/text/templates" / name,
                     std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// 2023-11-14 22:13:20 UTC, the time at which the expected texts were made.
int64_t fixed_clock() { return 1'700'000'000; }

Result<ChatTemplate::Rendering> render(const std::string& source, const Json& variables) {
  setenv("TZ", "UTC", 1);
  tzset();
  ChatTemplateOptions options;
  options.clock = &fixed_clock;
  auto parsed = ChatTemplate::parse(source, "snippet", options);
  if (!parsed.ok()) return std::move(parsed).error();
  return parsed->render_marked(variables);
}

class Snippets : public testing::TestWithParam<const char*> {};

TEST_P(Snippets, RenderAsByJinja) {
  const Json variables = Json::parse(data_file("variables.json"));
  const Json data = Json::parse(data_file(std::string("snippets_") + GetParam() + ".json"));
  ASSERT_FALSE(data["snippets"].empty());
  for (const Json& row : data["snippets"]) {
    const std::string source = row["template"];
    const auto rendered = render(source, variables);
    if (row.contains("error")) {
      EXPECT_FALSE(rendered.ok()) << source << "\ngave: " << rendered->text;
      continue;
    }
    ASSERT_TRUE(rendered.ok()) << source << "\n" << rendered.error().to_string();
    EXPECT_EQ(rendered->text, row["rendered"].get<std::string>()) << source;
  }
}

INSTANTIATE_TEST_SUITE_P(Data, Snippets,
                         testing::Values("operators", "values", "text_methods", "list_filters",
                                         "number_filters", "statements", "templates", "refused"),
                         [](const auto& row) { return std::string(row.param); });

// What jinja2 can do and we cannot says so, instead of giving another text.
TEST(SnippetErrors, WhatWeLackIsRefusedWithItsLine) {
  const Json variables = Json::parse(data_file("variables.json"));
  const Json data = Json::parse(data_file("snippets_refused.json"));
  for (const Json& row : data["snippets"]) {
    const std::string source = "\n\n" + row["template"].get<std::string>();
    const auto rendered = render(source, variables);
    ASSERT_FALSE(rendered.ok()) << source;
    EXPECT_NE(rendered.error().code, ErrorCode::kInternal) << rendered.error().to_string();
    const bool has_line = rendered.error().message.find("snippet:3:") == 0 ||
                          rendered.error().message.find("'self'") != std::string::npos;
    EXPECT_TRUE(has_line) << rendered.error().to_string();
  }
}

TEST(OwnTemplates, EveryCaseIsRenderedOrRefusedAsByJinja) {
  const Json data = Json::parse(data_file("renderings.json"));
  ASSERT_FALSE(data["cases"].empty());
  for (const Json& row : data["cases"]) {
    Json variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    variables["messages"] = data["message_sets"][row["messages"].get<std::string>()];
    const bool tools = row["tools"];
    const bool prompt = row["add_generation_prompt"];
    variables["tools"] = tools ? data["tools"] : Json();
    variables["add_generation_prompt"] = prompt;
    if (tools && prompt) variables["enable_thinking"] = false;
    const auto rendered = render(data_file(row["template"].get<std::string>()), variables);
    if (row.contains("error")) {
      EXPECT_FALSE(rendered.ok()) << row.dump();
      continue;
    }
    ASSERT_TRUE(rendered.ok()) << row.dump() << rendered.error().to_string();
    EXPECT_EQ(rendered->text, row["rendered"].get<std::string>()) << row.dump();
  }
}

}  // namespace
}  // namespace moe::text
