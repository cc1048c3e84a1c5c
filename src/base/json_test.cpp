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

}  // namespace
}  // namespace moe
