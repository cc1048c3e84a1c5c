// Real chat templates of the field against the renderings that jinja2 gives for them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "text/chat/chat_template.hpp"

namespace moe::text {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReferenceTemplates, EveryCaseIsRenderedOrRefusedAsByJinja) {
  const std::filesystem::path folder =
      std::filesystem::path(MOE_REFERENCE_DIR) / "text" / "templates";
  if (!std::filesystem::exists(folder / "cases.json")) {
    GTEST_SKIP() << "reference data is not at " << folder;
  }
  const Json data = Json::parse(read_file(folder / "cases.json"));
  size_t checked = 0;
  for (const Json& row : data["cases"]) {
    if (row.contains("skipped")) continue;
    ++checked;
    Json variables = data["variables"];
    variables["messages"] = data["message_sets"][row["messages"].get<std::string>()];
    variables["tools"] = row["tools"].get<bool>() ? data["tools"] : Json();
    variables["add_generation_prompt"] = row["add_generation_prompt"];
    const std::string name = row["template"];
    SCOPED_TRACE(name + " " + row.dump().substr(0, 120));
    const auto parsed = ChatTemplate::parse(read_file(folder / name), name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    const auto rendered = parsed->render(variables);
    if (row.contains("error")) {
      EXPECT_FALSE(rendered.ok()) << *rendered;
      continue;
    }
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_string();
    EXPECT_EQ(*rendered, row["rendered"].get<std::string>());
  }
  EXPECT_GT(checked, 0u);
}

}  // namespace
}  // namespace moe::text
