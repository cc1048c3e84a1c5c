// The MessagePack reader: every type that it takes, every limit, every refusal.
#include "rdna/msgpack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace moe::sim::rdna {
namespace {

using ::testing::HasSubstr;

Result<Json> read(const std::string& text, MsgpackLimits limits = {}) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return read_msgpack({data, text.size()}, "note", limits);
}

void expect_refused(const std::string& text, const std::string& part, MsgpackLimits limits = {}) {
  const auto value = read(text, limits);
  ASSERT_FALSE(value.ok()) << part;
  EXPECT_THAT(value.error().message, HasSubstr(part));
  EXPECT_FALSE(value.error().fix.empty());
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text.push_back(static_cast<char>(value));
  return text;
}

TEST(Msgpack, ValuesOfEveryType) {
  EXPECT_EQ(*read(bytes({0xc0})), Json(nullptr));
  EXPECT_EQ(*read(bytes({0xc2})), Json(false));
  EXPECT_EQ(*read(bytes({0xc3})), Json(true));
  EXPECT_EQ(*read(bytes({0x7f})), Json(127u));
  EXPECT_EQ(*read(bytes({0xff})), Json(-1));
  EXPECT_EQ(*read(bytes({0xcc, 200})), Json(200u));
  EXPECT_EQ(*read(bytes({0xcd, 1, 2})), Json(258u));
  EXPECT_EQ(*read(bytes({0xce, 0, 1, 0, 0})), Json(65536u));
  EXPECT_EQ(*read(bytes({0xcf, 0, 0, 0, 1, 0, 0, 0, 0})), Json(uint64_t{1} << 32));
  EXPECT_EQ(*read(bytes({0xd0, 0x80})), Json(-128));
  EXPECT_EQ(*read(bytes({0xd1, 0xff, 0xfe})), Json(-2));
  EXPECT_EQ(*read(bytes({0xd2, 0xff, 0xff, 0xff, 0xfd})), Json(-3));
  EXPECT_EQ(*read(bytes({0xa2, 'a', 'b'})), Json("ab"));
  EXPECT_EQ(*read(bytes({0xd9, 1, 'x'})), Json("x"));
  EXPECT_EQ(*read(bytes({0xda, 0, 1, 'x'})), Json("x"));
  EXPECT_EQ(*read(bytes({0x92, 1, 2})), Json::array({1u, 2u}));
  EXPECT_EQ(*read(bytes({0xdc, 0, 1, 5})), Json::array({5u}));
  EXPECT_EQ(read(bytes({0x81, 0xa1, 'k', 7}))->at("k"), Json(7u));
  EXPECT_EQ(read(bytes({0xde, 0, 1, 0xa1, 'k', 7}))->at("k"), Json(7u));
}

TEST(Msgpack, CutOffOrForeignValuesAreRefused) {
  expect_refused("", "cut off");
  expect_refused(bytes({0xcd, 1}), "wanted 2 bytes, got 1");
  expect_refused(bytes({0xa3, 'a'}), "string of 3 bytes, got 1");
  expect_refused(bytes({0xdd, 0xff, 0xff, 0xff, 0xff}), "cut off");
  expect_refused(bytes({0xdb, 0xff, 0xff, 0xff, 0xff}), "string of 4294967295 bytes");
  expect_refused(bytes({1, 2}), "bytes behind the value");
  expect_refused(bytes({0x81, 1, 2}), "a map key is number");
  expect_refused(bytes({0x82, 0xa1, 'k', 1, 0xa1, 'k', 2}), "duplicate key \"k\"");
  expect_refused(bytes({0xca, 0, 0, 0, 0}), "type 0xca");
  expect_refused(bytes({0xc1}), "type 0xc1");
}

TEST(Msgpack, LimitsHoldAtTheLimitAndOnePast) {
  const std::string three = bytes({0x91, 0x91, 0x91, 1});
  EXPECT_TRUE(read(three, {.max_depth = 3}).ok());
  expect_refused(three, "nested deeper than 2", {.max_depth = 2});
  EXPECT_TRUE(read(three, {.max_values = 4}).ok());
  expect_refused(three, "more than 3 values", {.max_values = 3});
  EXPECT_TRUE(read(three, {.max_bytes = 4}).ok());
  expect_refused(three, "the limit is 3", {.max_bytes = 3});
  const std::string map = bytes({0x82, 0xa1, 'a', 1, 0xa1, 'b', 2});
  EXPECT_TRUE(read(map, {.max_map_entries = 2}).ok());
  expect_refused(map, "a map of 2 entries", {.max_map_entries = 1});
  expect_refused(std::string(100000, '\x91'), "nested deeper than 16");
}

}  // namespace
}  // namespace moe::sim::rdna
