#include "moe/error.hpp"

namespace moe {
namespace {

struct CodeRow {
  std::string_view name;
  int exit_status;
  int http_status;
};

// The one table of codes: docs/errors.md repeats it for users.
CodeRow row_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return {"invalid_argument", 2, 400};
    case ErrorCode::kNotFound:
      return {"not_found", 3, 404};
    case ErrorCode::kCorrupt:
      return {"corrupt", 4, 422};
    case ErrorCode::kUnsupported:
      return {"unsupported", 5, 501};
    case ErrorCode::kOutOfMemory:
      return {"out_of_memory", 6, 507};
    case ErrorCode::kOverloaded:
      return {"overloaded", 7, 429};
    case ErrorCode::kCancelled:
      return {"cancelled", 8, 499};
    case ErrorCode::kDeadline:
      return {"deadline", 9, 504};
    case ErrorCode::kInternal:
      return {"internal", 10, 500};
  }
  return {"internal", 10, 500};
}

}  // namespace

std::string Error::to_string() const {
  std::string text(name_of(code));
  text += ": ";
  text += message;
  if (!fix.empty()) {
    text += "\nfix: ";
    text += fix;
  }
  return text;
}

std::string_view name_of(ErrorCode code) { return row_of(code).name; }
int exit_status_of(ErrorCode code) { return row_of(code).exit_status; }
int http_status_of(ErrorCode code) { return row_of(code).http_status; }

}  // namespace moe
