// What the program writes: stdout without buffering, so that an answer appears as it is made, and
// messages on stderr. One thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "moe/result.hpp"

namespace moe::cli {

// "moe: <message>" and "fix: ..." on stderr; returns the exit status of the error's code.
int print_error(const Error& error);
// "moe: <text>" on stderr.
void print_note(std::string_view text);

class Stdout {
 public:
  // False from the first failure on.
  bool write(std::string_view text);
  bool failed() const { return error_number_ != 0; }
  // 0 when all was written or the reader has gone away, which ends the program quietly; otherwise
  // prints the error and returns its exit status.
  int finish() const;

 private:
  int error_number_ = 0;
};

// A whole text; returns the exit status.
int write_stdout(std::string_view text);

}  // namespace moe::cli
