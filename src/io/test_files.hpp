// For tests of files: a folder that is removed at the end, safetensors images from header text, and
// a shorthand for checking errors. Included by tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "moe/result.hpp"

namespace moe::io {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "moe_io_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// A file image: header length, header, `data_bytes` bytes counting up from 0.
inline std::string safetensors_image(std::string_view header, size_t data_bytes = 0) {
  std::string image(8, '\0');
  for (size_t i = 0; i < 8; ++i) image[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  image += header;
  for (size_t i = 0; i < data_bytes; ++i) image += static_cast<char>(i);
  return image;
}

inline std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The result is an error of that code, its message contains `part`, and it has a fix.
template <class T>
void expect_error(const Result<T>& result, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(result.ok()) << "wanted an error with: " << part;
  EXPECT_EQ(name_of(result.error().code), name_of(code)) << result.error().message;
  EXPECT_THAT(result.error().message, testing::HasSubstr(std::string(part)));
  EXPECT_FALSE(result.error().fix.empty()) << result.error().message;
}

}  // namespace moe::io
