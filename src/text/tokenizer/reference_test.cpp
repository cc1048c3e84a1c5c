// The tokenizers and texts in tests/data/text/tokenizers, made with the `tokenizers` library: ids
// and decoded text must be equal, one id at a time too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "text/tokenizer/tokenizer.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

std::filesystem::path data_folder() {
  return std::filesystem::path(MOE_SOURCE_DIR) / "tests/data/text/tokenizers";
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder())) {
    const std::string name = entry.path().filename().string();
    const size_t end = name.find(".cases.json");
    if (end != std::string::npos) names.push_back(name.substr(0, end));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer,
                     const std::vector<int32_t>& ids, bool skip_special_tokens) {
  Detokenizer stream(tokenizer, skip_special_tokens);
  std::string text;
  for (const int32_t id : ids) {
    const auto piece = stream.push(id);
    if (!piece) return piece.error().to_string();
    EXPECT_FALSE(first_invalid_utf8(*piece).has_value());
    text += *piece;
  }
  return text + stream.finish();
}

class TokenizerReference : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerReference, IdsAndTextEqualTheLibrary) {
  const std::string kind = GetParam();
  const auto loaded =
      Tokenizer::from_json(file_text(data_folder() / (kind + ".json")), kind + ".json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto& tokenizer = *loaded;
  const Json cases = Json::parse(file_text(data_folder() / (kind + ".cases.json")));
  ASSERT_FALSE(cases.empty());
  for (const Json& one : cases) {
    const auto text = one.at("text").get<std::string>();
    SCOPED_TRACE(testing::PrintToString(text));
    const auto ids = one.at("ids").get<std::vector<int32_t>>();
    const auto with_special = one.at("ids_with_special").get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer->encode(text, false).value(), ids);
    EXPECT_EQ(tokenizer->encode(text, true).value(), with_special);
    const auto decoded = one.at("decoded").get<std::string>();
    const auto decoded_skip = one.at("decoded_skip_special").get<std::string>();
    EXPECT_EQ(tokenizer->decode(ids, false).value(), decoded);
    EXPECT_EQ(tokenizer->decode(with_special, true).value(), decoded_skip);
    EXPECT_EQ(streamed(tokenizer, ids, false), decoded);
    EXPECT_EQ(streamed(tokenizer, with_special, true), decoded_skip);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerReference, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace moe::text
