#include "cli/input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress.hpp"
#include "cli/quantity.hpp"

namespace moe::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TokenIds, ListsAreParsed) {
  EXPECT_THAT(parse_token_ids("7").value(), ElementsAre(7));
  EXPECT_THAT(parse_token_ids(" 1, 2,\n3\n").value(), ElementsAre(1, 2, 3));
  EXPECT_THAT(parse_token_ids("2147483647").value(), ElementsAre(2147483647));
}

TEST(TokenIds, AnythingElseIsRefusedByNumber) {
  for (const char* text :
       {"", "1,", "1,,2", "1,x", "1.5", "0x10", "-1", "2147483648", "1 2", "+1"}) {
    const auto ids = parse_token_ids(text);
    ASSERT_FALSE(ids.ok()) << text;
    EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(ids.error().message, HasSubstr("entry "));
    EXPECT_FALSE(ids.error().fix.empty());
  }
  EXPECT_THAT(parse_token_ids("1,x").error().message, HasSubstr("entry 2 is \"x\""));
}

TEST(TokenIds, TheirNumberIsLimited) {
  std::string text = "0";
  for (size_t i = 1; i < kMaxTokenIds; ++i) text += ",0";
  EXPECT_EQ(parse_token_ids(text).value().size(), kMaxTokenIds);
  EXPECT_FALSE(parse_token_ids(text + ",0").ok());
}

template <class Number>
std::optional<Number> parsed(const std::vector<std::string>& arguments) {
  CLI::App app;
  std::optional<Number> value;
  add_number(app, "--n", value);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  return value;
}

TEST(NumberFlags, TheWholeTextMustBeTheNumber) {
  EXPECT_EQ(parsed<int32_t>({"--n", "-5"}), -5);
  EXPECT_EQ(parsed<int32_t>({"--n=010"}), 10);
  EXPECT_EQ(parsed<uint64_t>({"--n", "18446744073709551615"}), 18446744073709551615ULL);
  EXPECT_EQ(parsed<float>({"--n", "-0.5"}), -0.5F);
  EXPECT_EQ(parsed<float>({}), std::nullopt);
  EXPECT_THROW(parsed<uint64_t>({"--n", "-1"}), CLI::ValidationError);
  EXPECT_THROW(parsed<uint64_t>({"--n", "18446744073709551616"}), CLI::ValidationError);
  EXPECT_THROW(parsed<int32_t>({"--n", "2147483648"}), CLI::ValidationError);
  EXPECT_THROW(parsed<int32_t>({"--n", "1.5"}), CLI::ValidationError);
  EXPECT_THROW(parsed<int64_t>({"--n", "0x10"}), CLI::ValidationError);
  EXPECT_THROW(parsed<float>({"--n", "1,5"}), CLI::ValidationError);
  EXPECT_THROW(parsed<float>({"--n", "warm"}), CLI::ValidationError);
}

TEST(Quantity, NumbersForPeople) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(22613248), "22,613,248");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(999949), "999.9 kB");
  EXPECT_EQ(bytes_text(999950), "1.0 MB");
  EXPECT_EQ(bytes_text(61'000'000'000), "61.0 GB");
}

TEST(Progress, LineShowsShareAndBytes) {
  EXPECT_EQ(progress_line("loading", 1'000'000'000, 2'000'000'000),
            "loading [###############...............]  50 %  1.0 of 2.0 GB");
  EXPECT_THAT(progress_line("loading", 0, 0), HasSubstr("100 %"));
}

}  // namespace
}  // namespace moe::cli
