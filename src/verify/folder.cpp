#include "verify/folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"

namespace moe::verify {

Result<std::vector<std::filesystem::path>> sorted_entries(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  if (!std::filesystem::exists(dir, error)) return entries;
  std::filesystem::directory_iterator iterator(dir, error);
  for (; !error && iterator != std::filesystem::directory_iterator(); iterator.increment(error)) {
    entries.push_back(iterator->path());
  }
  if (error) {
    return not_found(fmt::format("{}: cannot list the folder: {}", dir.string(), error.message()),
                     "check the path and its permissions");
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace moe::verify
