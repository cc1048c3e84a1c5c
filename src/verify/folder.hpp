// Listing of an oracle folder, and the case filter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "moe/result.hpp"

namespace moe::verify {

// The entries of a folder in ascending order of their names; empty when it does not exist.
// Errors: not_found when it exists and cannot be read.
Result<std::vector<std::filesystem::path>> sorted_entries(const std::filesystem::path& dir);

// An empty filter matches everything, another one every name that contains it.
inline bool matches(const std::string& name, const std::string& filter) {
  return filter.empty() || name.find(filter) != std::string::npos;
}

}  // namespace moe::verify
