// The error value used by every fallible function of moe.cpp, and the table that maps its
// code to an exit status of the program and to an HTTP status of the server.
// Plain values, no third-party types; may be copied between threads.
#pragma once

#include <string>
#include <string_view>

#include "moe/export.h"

namespace moe {

enum class ErrorCode {
  kInvalidArgument,  // the caller's input is wrong
  kNotFound,         // a file, tensor or model is not there
  kCorrupt,          // a file breaks the rules of its format
  kUnsupported,      // valid input that this build or device cannot handle
  kOutOfMemory,      // memory or cache space is too small for the request
  kOverloaded,       // try again later
  kCancelled,        // the caller stopped the work
  kDeadline,         // a time limit passed
  kInternal,         // a bug of ours
};

// `message` says what, where, got and wanted; `fix` says what the user can do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string fix;

  // "<code>: <message>" and, on a second line, "fix: <fix>" when there is one.
  MOE_API std::string to_string() const;
};

// Stable lower-case name, such as "invalid_argument".
MOE_API std::string_view name_of(ErrorCode code);
// Process exit status: 0 is success and never returned here.
MOE_API int exit_status_of(ErrorCode code);
MOE_API int http_status_of(ErrorCode code);

}  // namespace moe
