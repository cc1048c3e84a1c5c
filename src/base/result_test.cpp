#include "moe/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "base/checked_math.hpp"
#include "base/errors.hpp"

namespace moe {
namespace {

Result<std::unique_ptr<int>> make(int value) {
  if (value < 0) return invalid_argument("value is negative", "pass 0 or more");
  return std::make_unique<int>(value);
}

Result<int> twice(int value) {
  const auto made = TRY(make(value));
  return *made * 2;
}

Status check(int value) {
  TRY(make(value));
  return {};
}

TEST(Result, TryPassesMoveOnlyValuesOn) { EXPECT_EQ(twice(21).value(), 42); }

TEST(Result, TryReturnsTheErrorUnchanged) {
  const Result<int> result = twice(-1);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().to_string(), "invalid_argument: value is negative\nfix: pass 0 or more");
  EXPECT_TRUE(check(1).ok());
  EXPECT_FALSE(check(-1).ok());
}

TEST(Error, EveryCodeHasItsOwnNameAndExitStatus) {
  std::set<std::string> names;
  std::set<int> statuses;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(std::string(name_of(static_cast<ErrorCode>(code))));
    statuses.insert(exit_status_of(static_cast<ErrorCode>(code)));
    EXPECT_GE(http_status_of(static_cast<ErrorCode>(code)), 400);
  }
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(statuses.size(), 9u);
  EXPECT_EQ(statuses.count(0), 0u);
}

TEST(CheckedMath, OverflowGivesNothing) {
  EXPECT_EQ(checked_add(1, 2), 3u);
  EXPECT_EQ(checked_add(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_mul(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(checked_mul(UINT64_MAX / 2 + 1, 2), std::nullopt);
  const uint64_t factors[] = {1ULL << 32, 1ULL << 31, 2};
  EXPECT_EQ(checked_product(factors), std::nullopt);
  EXPECT_EQ(checked_product({}), 1u);
}

}  // namespace
}  // namespace moe
