#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace moe {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  std::fprintf(stderr, "moe: internal check failed at %s:%d: %s%s%s\n", file, line, condition,
               detail.empty() ? "" : " with ", detail.c_str());
  std::abort();
}

}  // namespace moe
