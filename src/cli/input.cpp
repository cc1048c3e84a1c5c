#include "cli/input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/errors.hpp"

namespace moe::cli {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

template <class Number>
Number number_or_throw(const std::string& flag, std::string_view text, const char* wanted) {
  const std::optional<Number> value = parse_number<Number>(text);
  if (value) return *value;
  throw CLI::ValidationError(flag, fmt::format("got \"{}\", wanted {}", text, wanted));
}

template <class Number>
CLI::Option* add_number_flag(CLI::App& app, const std::string& flag, std::optional<Number>& value,
                             const char* wanted) {
  return app.add_option_function<std::string>(flag,
                                              [flag, &value, wanted](const std::string& text) {
                                                value = number_or_throw<Number>(flag, text, wanted);
                                              });
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

Result<std::string> read_stdin(size_t limit) {
  constexpr size_t kPiece = size_t{64} << 10;
  std::string text;
  while (true) {
    const size_t size = text.size();
    if (size > limit) {
      return invalid_argument(fmt::format("stdin has more than {} bytes", limit),
                              "give a shorter text");
    }
    text.resize(size + kPiece);
    const ssize_t count = ::read(STDIN_FILENO, text.data() + size, kPiece);
    if (count < 0 && errno != EINTR) {
      return invalid_argument(fmt::format("cannot read stdin: {}", std::strerror(errno)),
                              "check where stdin comes from");
    }
    text.resize(size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count == 0) return text;
  }
}

Result<std::vector<int32_t>> parse_token_ids(std::string_view text) {
  constexpr const char* kFix = "give ids such as 1,2,3";
  std::vector<int32_t> ids;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    const std::optional<int32_t> id = parse_number<int32_t>(entry);
    if (!id || *id < 0) {
      return invalid_argument(
          fmt::format("token ids: entry {} is \"{}\", wanted an integer from 0 to {}",
                      ids.size() + 1, entry.substr(0, 40), INT32_MAX),
          kFix);
    }
    if (ids.size() == kMaxTokenIds) {
      return invalid_argument(fmt::format("token ids: more than {} of them", kMaxTokenIds), kFix);
    }
    ids.push_back(*id);
    if (comma == std::string_view::npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<int32_t>& value) {
  return add_number_flag(app, flag, value, "an integer");
}
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<int64_t>& value) {
  return add_number_flag(app, flag, value, "an integer");
}
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<uint64_t>& value) {
  return add_number_flag(app, flag, value, "an integer of at least 0");
}
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<float>& value) {
  return add_number_flag(app, flag, value, "a number");
}

CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<std::string>& values) {
  return app.add_option(flag, values)->allow_extra_args(false);
}

int32_t integer_of(const std::string& flag, std::string_view text) {
  return number_or_throw<int32_t>(flag, text, "an integer");
}
float number_of(const std::string& flag, std::string_view text) {
  return number_or_throw<float>(flag, text, "a number");
}

}  // namespace moe::cli
