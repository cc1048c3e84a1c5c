// Numbers for people. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace moe::cli {

// "22,613,248"
std::string with_separators(uint64_t value);
// "512 B", "45.2 MB": decimal units, one digit after the point.
std::string bytes_text(uint64_t bytes);

}  // namespace moe::cli
