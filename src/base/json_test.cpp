#include "base/json.hpp"

#include <gtest/gtest.h>

namespace moe {
namespace {

TEST(Json, KeepsTheOrderOfKeys) {
  const auto value = parse_json(R"({"z":1,"a":[true,null,"x"]})", "test").value();
  EXPECT_EQ(value.dump(), R"({"z":1,"a":[true,null,"x"]})");
}

TEST(Json, DuplicateKeyInOneObjectIsCorrupt) {
  const auto result = parse_json(R"({"a":{"b":1},"b":{"b":2},"a":3})", "test");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(result.error().message.find("duplicate key \"a\""), std::string::npos);
  EXPECT_TRUE(parse_json(R"({"a":{"b":1},"b":{"b":2}})", "test").ok());
}

TEST(Json, DepthAtTheLimitPassesAndOnePastItFails) {
  const JsonLimits limits{.max_bytes = 100, .max_depth = 3};
  EXPECT_TRUE(parse_json(R"([{"a":[]}])", "test", limits).ok());
  EXPECT_FALSE(parse_json(R"([{"a":[[]]}])", "test", limits).ok());
}

TEST(Json, SizeAtTheLimitPassesAndOnePastItFails) {
  const JsonLimits limits{.max_bytes = 4, .max_depth = 3};
  EXPECT_TRUE(parse_json("1234", "test", limits).ok());
  EXPECT_FALSE(parse_json("12345", "test", limits).ok());
}

TEST(Json, BrokenTextNamesSourceAndByte) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "\"\xff\"", "1 2", "[1]]"}) {
    const auto result = parse_json(text, "some.json");
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(result.error().message.find("some.json: syntax error at byte"), std::string::npos)
        << result.error().message;
  }
}

TEST(Json, BytesAfterANulAreNotIgnored) {
  EXPECT_FALSE(parse_json(std::string_view("{}\0garbage", 10), "test").ok());
  EXPECT_FALSE(parse_json(std::string_view("{}\0", 3), "test").ok());
}

TEST(Json, AnObjectOfManyKeysIsReadInOrder) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i)
    text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const Json value = parse_json(text, "test").value();
  ASSERT_EQ(value.size(), 200000u);
  int64_t next = 0;
  for (const auto& [key, number] : value.items()) {
    ASSERT_EQ(number.get<int64_t>(), next);
    ++next;
  }
}

}  // namespace
}  // namespace moe
