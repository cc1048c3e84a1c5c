#include "io/shard_index.hpp"

#include <fmt/format.h>

#include "io/safetensors.hpp"
#include "io/test_files.hpp"

namespace moe::io {
namespace {

void expect_corrupt(std::string_view text, std::string_view part) {
  SCOPED_TRACE(text.substr(0, 200));
  const auto result = parse_shard_index(text, "index.json");
  expect_error(result, ErrorCode::kCorrupt, part);
  if (!result.ok()) {
    EXPECT_THAT(result.error().message, testing::StartsWith("index.json: "));
  }
}

TEST(ShardIndex, PlacesAndFilesAreSorted) {
  const auto index = parse_shard_index(
                         R"({"metadata":{"total_size":1,"more":[{"weight_map":{}},null,-1,2.5]},
                             "weight_map":{"z":"s2","a":"s1","m":"s2"},"x":"y","y":true})",
                         "index.json")
                         .value();
  EXPECT_THAT(index.files, testing::ElementsAre("s1", "s2"));
  ASSERT_EQ(index.places.size(), 3U);
  EXPECT_EQ(index.places[0].tensor, "a");
  EXPECT_EQ(index.places[0].shard, 0);
  EXPECT_EQ(index.places[1].tensor, "m");
  EXPECT_EQ(index.places[1].shard, 1);
  EXPECT_EQ(index.places[2].tensor, "z");
  EXPECT_EQ(index.places[2].shard, 1);
}

TEST(ShardIndex, WrongFormGivesCorrupt) {
  expect_corrupt("", "no valid JSON at byte 0");
  expect_corrupt("[]", "text is an array, wanted an object");
  expect_corrupt("3", "text is a number, wanted an object");
  expect_corrupt("{", "no valid JSON");
  expect_corrupt(std::string_view("{}\0{}", 5), "no valid JSON at byte 2: a zero byte");
  expect_corrupt("{}", "weight_map is missing");
  expect_corrupt(R"({"a":{"weight_map":{"x":"y"}}})", "weight_map is missing");
  expect_corrupt(R"({"weight_map":{}})", "weight_map is empty");
  expect_corrupt(R"({"weight_map":[]})", "weight_map is an array, wanted an object");
  expect_corrupt(R"({"weight_map":"x"})", "weight_map is a string, wanted an object");
  expect_corrupt(R"({"weight_map":null})", "weight_map is null, wanted an object");
  expect_corrupt(R"({"weight_map":{"a":1}})",
                 "tensor \"a\": shard is a number, wanted a file name");
  expect_corrupt(R"({"weight_map":{"a":{}}})", "tensor \"a\": shard is an object");
  expect_corrupt(R"({"weight_map":{"a":["f"]}})", "tensor \"a\": shard is an array");
}

TEST(ShardIndex, DuplicateKeysGiveCorrupt) {
  expect_corrupt(R"({"weight_map":{"a":"f"},"weight_map":{"b":"f"}})", "duplicate key");
  expect_corrupt(R"({"weight_map":{"a":"f","a":"g"}})", "duplicate tensor \"a\"");
}

TEST(ShardIndex, ShardThatIsNoPlainFileNameGivesCorrupt) {
  for (const char* name : {"", ".", "..", "/etc/passwd", "../x.safetensors", "a/b", "a\\\\b",
                           "a/..", "a\\u0000b", "\\u002e\\u002e"}) {
    expect_corrupt(fmt::format(R"({{"weight_map":{{"t":"{}"}}}})", name), "tensor \"t\": shard ");
  }
  const std::string name(255, 'x');
  const std::string start = R"({"weight_map":{"t":")";
  EXPECT_TRUE(parse_shard_index(start + name + "\"}}", "index.json").ok());
  expect_corrupt(start + name + "x\"}}", "is not a plain file name");
}

TEST(ShardIndex, LimitsPassAndOnePastThemIsCorrupt) {
  const auto with_name = [](size_t bytes) {
    return fmt::format(R"({{"weight_map":{{"{}":"f"}}}})", std::string(bytes, 'n'));
  };
  EXPECT_TRUE(parse_shard_index(with_name(kMaxTensorNameBytes), "index.json").ok());
  expect_corrupt(with_name(kMaxTensorNameBytes + 1), "has 1025 bytes, the limit is 1024");

  const auto with_shards = [](size_t count) {
    std::string text = "{\"weight_map\":{";
    for (size_t i = 0; i < count; ++i) text += fmt::format("{}\"{}\":\"{}\"", i ? "," : "", i, i);
    return text + "}}";
  };
  EXPECT_TRUE(parse_shard_index(with_shards(kMaxShards), "index.json").ok());
  expect_corrupt(with_shards(kMaxShards + 1), "more than 4096 shards");

  const std::string two = R"({"weight_map":{"a":"f","b":"f")";
  EXPECT_TRUE(parse_shard_index(two + "}}", "index.json", {.tensors = 2}).ok());
  expect_error(parse_shard_index(two + R"(,"c":"f"}})", "index.json", {.tensors = 2}),
               ErrorCode::kCorrupt, "more than 2 tensors");

  const auto with_depth = [](size_t depth) {  // of the whole text
    return "{\"m\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') +
           ",\"weight_map\":{\"a\":\"f\"}}";
  };
  EXPECT_TRUE(parse_shard_index(with_depth(64), "index.json").ok());
  expect_corrupt(with_depth(65), "nesting is deeper than 64");
}

}  // namespace
}  // namespace moe::io
