#include "io/config_object.hpp"

#include "io/test_files.hpp"

namespace moe::io {
namespace {

using testing::ElementsAre;

ConfigObject object_of(std::string_view text) {
  return ConfigObject::parse(text, "config.json").value();
}

TEST(ConfigObject, GivesTypedValues) {
  const auto object = object_of(
      R"({"i":7,"n":-3,"d":0.5,"b":true,"s":"x","nul":null,"l":[1,2],"f":[1,2.5],"t":["a","b"]})");
  EXPECT_EQ(object.integer("i").value(), 7);
  EXPECT_EQ(object.integer("n").value(), -3);
  EXPECT_EQ(object.number("d").value(), 0.5);
  EXPECT_EQ(object.number("i").value(), 7.0);
  EXPECT_TRUE(object.boolean("b").value());
  EXPECT_EQ(object.string("s").value(), "x");
  EXPECT_THAT(object.integers("l").value(), ElementsAre(1, 2));
  EXPECT_THAT(object.numbers("f").value(), ElementsAre(1.0, 2.5));
  EXPECT_THAT(object.strings("t").value(), ElementsAre("a", "b"));
}

TEST(ConfigObject, NullCountsAsAbsent) {
  const auto object = object_of(R"({"nul":null})");
  for (const char* key : {"nul", "none"}) {
    EXPECT_FALSE(object.has(key));
    EXPECT_EQ(object.integer_or(key, 5, 0, 1).value(), 5);
    EXPECT_EQ(object.number_or(key, 2.5).value(), 2.5);
    EXPECT_TRUE(object.boolean_or(key, true).value());
    EXPECT_EQ(object.string_or(key, "d").value(), "d");
    EXPECT_FALSE(object.optional_integer(key).value().has_value());
    EXPECT_FALSE(object.optional_object(key).value().has_value());
    EXPECT_TRUE(object.integers(key).value().empty());
    EXPECT_TRUE(object.numbers(key).value().empty());
    EXPECT_TRUE(object.strings(key).value().empty());
    const std::string where = std::string("config.json: ") + key + " is missing, wanted ";
    expect_error(object.integer(key), ErrorCode::kCorrupt, where + "an integer");
    expect_error(object.number(key), ErrorCode::kCorrupt, where + "a number");
    expect_error(object.boolean(key), ErrorCode::kCorrupt, where + "true or false");
    expect_error(object.string(key), ErrorCode::kCorrupt, where + "a string");
  }
}

TEST(ConfigObject, WrongTypeIsCorruptWithKeyGotAndWanted) {
  const auto object = object_of(R"({"s":"x","i":1,"f":1.0,"o":{"a":[]},"l":[1,"y"],"b":false})");
  const auto code = ErrorCode::kCorrupt;
  expect_error(object.integer("s"), code, "config.json: s is \"x\", wanted an integer");
  expect_error(object.integer("f"), code, "config.json: f is 1.0, wanted an integer");
  expect_error(object.integer_or("b", 0), code, "config.json: b is false, wanted an integer");
  expect_error(object.number("b"), code, "config.json: b is false, wanted a number");
  expect_error(object.boolean("i"), code, "config.json: i is 1, wanted true or false");
  expect_error(object.string("o"), code, "config.json: o is an object, wanted a string");
  expect_error(object.optional_object("i"), code, "config.json: i is 1, wanted an object");
  expect_error(object.integers("i"), code, "config.json: i is 1, wanted an array of integers");
  expect_error(object.integers("l"), code, "config.json: l[1] is \"y\", wanted an integer");
  expect_error(object.numbers("l"), code, "config.json: l[1] is \"y\", wanted a number");
  expect_error(object.strings("l"), code, "config.json: l[0] is 1, wanted a string");
}

TEST(ConfigObject, RangeIncludesItsEnds) {
  const auto object = object_of(R"({"i":5,"d":0.5,"big":9223372036854775808,
                                    "top":9223372036854775807,"low":-9223372036854775808})");
  EXPECT_TRUE(object.integer("i", 5, 5).ok());
  expect_error(object.integer("i", 6, 9), ErrorCode::kCorrupt,
               "i is 5, wanted an integer in [6, 9]");
  expect_error(object.integer("i", 1, 4), ErrorCode::kCorrupt,
               "i is 5, wanted an integer in [1, 4]");
  expect_error(object.integer("i", 6), ErrorCode::kCorrupt, "i is 5, wanted an integer >= 6");
  EXPECT_TRUE(object.number("d", 0.5, 0.5).ok());
  expect_error(object.number("d", 0.6, 1), ErrorCode::kCorrupt,
               "d is 0.5, wanted a number in [0.6");
  EXPECT_EQ(object.integer("top").value(), INT64_MAX);
  EXPECT_EQ(object.integer("low").value(), INT64_MIN);
  expect_error(object.integer("big"), ErrorCode::kCorrupt, "big is 9223372036854775808, wanted");
}

TEST(ConfigObject, NestedObjectsNameTheirPath) {
  const auto object = object_of(R"({"rope":{"factor":"x","deep":{"k":1}}})");
  const auto rope = object.optional_object("rope").value().value();
  expect_error(rope.number("factor"), ErrorCode::kCorrupt, "config.json: rope.factor is \"x\"");
  const auto deep = rope.optional_object("deep").value().value();
  expect_error(deep.string("k"), ErrorCode::kCorrupt, "config.json: rope.deep.k is 1");
  EXPECT_THAT(object.optional_object("rope").value()->unread_keys(),
              ElementsAre("rope.factor", "rope.deep"));
}

TEST(ConfigObject, UnreadKeysAreThoseNobodyAskedFor) {
  const auto object = object_of(R"({"a":1,"b":2,"c":null,"d":4,"e":5})");
  EXPECT_THAT(object.unread_keys(), ElementsAre("a", "b", "c", "d", "e"));
  (void)object.integer("b");
  (void)object.has("c");
  object.ignore("e");
  EXPECT_THAT(object.unread_keys(), ElementsAre("a", "d"));
}

TEST(ConfigObject, TextThatIsNoObjectIsCorrupt) {
  for (const char* text : {"[]", "3", "null", "", "{", "{}x", R"({"a":1,"a":2})"}) {
    expect_error(ConfigObject::parse(text, "config.json"), ErrorCode::kCorrupt, "config.json: ");
  }
  expect_error(ConfigObject::parse(std::string_view("{}\0{", 4), "config.json"),
               ErrorCode::kCorrupt, "config.json: a zero byte at byte 2");
}

TEST(ConfigObject, LimitsPassAndOnePastThemIsCorrupt) {
  std::string text = "{}";
  text.resize(kMaxConfigBytes, ' ');
  EXPECT_TRUE(ConfigObject::parse(text, "config.json").ok());
  expect_error(ConfigObject::parse(text + " ", "config.json"), ErrorCode::kCorrupt,
               "has 1048577 bytes, the limit for this file is 1048576");
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(static_cast<size_t>(depth - 1), '[') +
           std::string(static_cast<size_t>(depth - 1), ']') + "}";
  };
  EXPECT_TRUE(ConfigObject::parse(nested(kMaxConfigDepth), "config.json").ok());
  expect_error(ConfigObject::parse(nested(kMaxConfigDepth + 1), "config.json"), ErrorCode::kCorrupt,
               "nesting is deeper");
}

TEST(ConfigObject, LongValueIsCutInTheMessage) {
  const auto object = object_of(R"({"s":")" + std::string(3000, 'x') + R"("})");
  const auto result = object.integer("s");
  expect_error(result, ErrorCode::kCorrupt, "xxx..., wanted an integer");
  EXPECT_LT(result.error().message.size(), 200U);
}

}  // namespace
}  // namespace moe::io
