#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/errors.hpp"

namespace moe::cli {

int print_error(const Error& error) {
  std::string text = "moe: " + error.message + "\n";
  if (!error.fix.empty()) text += "fix: " + error.fix + "\n";
  std::fputs(text.c_str(), stderr);
  return exit_status_of(error.code);
}

void print_note(std::string_view text) { fmt::print(stderr, "moe: {}\n", text); }

bool Stdout::write(std::string_view text) {
  while (!failed() && !text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      error_number_ = errno;
    }
  }
  return !failed();
}

int Stdout::finish() const {
  if (error_number_ == 0 || error_number_ == EPIPE) return 0;
  return print_error(
      invalid_argument(fmt::format("cannot write to stdout: {}", std::strerror(error_number_)),
                       "check where stdout leads and whether there is room"));
}

int write_stdout(std::string_view text) {
  Stdout out;
  out.write(text);
  return out.finish();
}

}  // namespace moe::cli
