// Read access to files: a whole file mapped into memory, or a small text file read into a string.
// Only regular files are opened; a pipe never blocks the caller. Any thread may read a FileMap.
//
// A mapped file must not shrink while it is mapped: the operating system then ends the process
// with SIGBUS at the next access. Writers that replace a file by renaming are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "moe/result.hpp"

namespace moe::io {

class FileMap {
 public:
  // Maps without reading: pages come in when they are touched. An empty file gives no bytes.
  static Result<std::shared_ptr<const FileMap>> open(const std::filesystem::path& path);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  std::span<const std::byte> bytes() const { return {begin_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Gives the resident pages of a range of bytes() back to the system; the contents stay readable
  // and are read from the file again.
  void drop_pages(std::span<const std::byte> range) const;

 private:
  FileMap(std::filesystem::path path, const std::byte* begin, size_t size)
      : path_(std::move(path)), begin_(begin), size_(size) {}

  std::filesystem::path path_;
  const std::byte* begin_ = nullptr;
  size_t size_ = 0;
};

// The contents of a regular file of at most `max_bytes`; a longer one is corrupt.
Result<std::string> read_small_file(const std::filesystem::path& path, size_t max_bytes);

}  // namespace moe::io
