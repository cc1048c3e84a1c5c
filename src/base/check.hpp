// CHECK and CHECK_EQ...: for our own bugs only, always on. A failure prints the condition and the
// values and ends the process. Bad input from outside must be an Error instead.
#pragma once

#include <fmt/format.h>

#include <string>

namespace moe {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& detail);

}  // namespace moe

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::moe::check_failed(__FILE__, __LINE__, #condition, {}); \
  } while (false)

#define MOE_CHECK_OP(a, op, b)                                                  \
  do {                                                                          \
    const auto& moe_check_a_ = (a);                                             \
    const auto& moe_check_b_ = (b);                                             \
    if (!(moe_check_a_ op moe_check_b_)) [[unlikely]]                           \
      ::moe::check_failed(__FILE__, __LINE__, #a " " #op " " #b,                \
                          fmt::format("{} vs {}", moe_check_a_, moe_check_b_)); \
  } while (false)

#define CHECK_EQ(a, b) MOE_CHECK_OP(a, ==, b)
#define CHECK_LE(a, b) MOE_CHECK_OP(a, <=, b)
#define CHECK_LT(a, b) MOE_CHECK_OP(a, <, b)
#define CHECK_GE(a, b) MOE_CHECK_OP(a, >=, b)
