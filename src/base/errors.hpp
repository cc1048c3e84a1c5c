// Short constructors for Error values; the first argument is the message, the second the fix.
#pragma once

#include <string>
#include <utility>

#include "moe/result.hpp"

namespace moe {

inline Error invalid_argument(std::string message, std::string fix = {}) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(fix)};
}
inline Error not_found(std::string message, std::string fix = {}) {
  return {ErrorCode::kNotFound, std::move(message), std::move(fix)};
}
inline Error corrupt(std::string message, std::string fix = {}) {
  return {ErrorCode::kCorrupt, std::move(message), std::move(fix)};
}
inline Error unsupported(std::string message, std::string fix = {}) {
  return {ErrorCode::kUnsupported, std::move(message), std::move(fix)};
}
inline Error out_of_memory(std::string message, std::string fix = {}) {
  return {ErrorCode::kOutOfMemory, std::move(message), std::move(fix)};
}
inline Error internal_error(std::string message) {
  return {ErrorCode::kInternal, std::move(message), "this is a bug in moe.cpp; please report it"};
}

}  // namespace moe
