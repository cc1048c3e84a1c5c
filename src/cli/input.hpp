// Text from stdin and numbers from flags. Bad input is an Error; a flag's own error is raised as
// CLI11's ValidationError, which the command line turns into a usage error.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"

namespace moe::cli {

inline constexpr size_t kMaxStdinBytes = size_t{64} << 20;
inline constexpr size_t kMaxTokenIds = size_t{1} << 20;

bool stdin_is_terminal();
bool stderr_is_terminal();

// All of stdin. Errors: invalid_argument above `limit` bytes or when it cannot be read.
Result<std::string> read_stdin(size_t limit = kMaxStdinBytes);

// "1,2,3", spaces and line breaks allowed. Errors: invalid_argument with the entry's number.
Result<std::vector<int32_t>> parse_token_ids(std::string_view text);

// Flags that take one number; the whole text must be one (CLI11's own conversion takes "-1" for
// an unsigned number and "010" for 8).
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<int32_t>& value);
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<int64_t>& value);
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<uint64_t>& value);
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<float>& value);
// A flag that may be repeated, one text each time.
CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<std::string>& values);

// The number in `text`, or ValidationError naming the flag.
int32_t integer_of(const std::string& flag, std::string_view text);
float number_of(const std::string& flag, std::string_view text);

}  // namespace moe::cli
