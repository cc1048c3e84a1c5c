#include "io/file_map.hpp"

#include <sys/stat.h>

#include "io/test_files.hpp"

namespace moe::io {
namespace {

TEST(FileMap, GivesTheBytesOfTheFile) {
  const TestFolder folder;
  const auto map = FileMap::open(folder.write("a.bin", "hello")).value();
  EXPECT_EQ(map->path(), folder / "a.bin");
  const auto bytes = map->bytes();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "hello");
}

TEST(FileMap, EmptyFileGivesNoBytes) {
  const TestFolder folder;
  EXPECT_TRUE(FileMap::open(folder.write("empty", "")).value()->bytes().empty());
}

TEST(FileMap, ContentsSurviveDroppedPages) {
  const TestFolder folder;
  const std::string text(100'000, 'x');
  const auto map = FileMap::open(folder.write("a.bin", text)).value();
  map->drop_pages(map->bytes().subspan(5000, 20'000));
  map->drop_pages({});
  const auto bytes = map->bytes();
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
}

TEST(FileMap, WhatIsNoRegularFileIsNamed) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder / "broken");
  const std::string dir = folder.path().string();
  expect_error(FileMap::open(folder / "none"), ErrorCode::kNotFound, dir + "/none: no such file");
  expect_error(FileMap::open(folder / "broken"), ErrorCode::kNotFound, dir + "/broken: no such");
  expect_error(FileMap::open(folder.path()), ErrorCode::kInvalidArgument,
               dir + ": is a directory, wanted a regular file");
  expect_error(FileMap::open(folder / "pipe"), ErrorCode::kInvalidArgument, "pipe: is a pipe");
  expect_error(FileMap::open("/dev/null"), ErrorCode::kInvalidArgument, "/dev/null: is a device");
  expect_error(read_small_file(folder / "pipe", 10), ErrorCode::kInvalidArgument, "is a pipe");
}

TEST(FileMap, UnreadableFileIsNamed) {
  const TestFolder folder;
  const auto path = folder.write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
  expect_error(FileMap::open(path), ErrorCode::kInvalidArgument, "secret: permission denied");
}

TEST(ReadSmallFile, SizeAtTheLimitPassesAndOnePastItIsCorrupt) {
  const TestFolder folder;
  const auto path = folder.write("a.json", "12345");
  EXPECT_EQ(read_small_file(path, 5).value(), "12345");
  expect_error(read_small_file(path, 4), ErrorCode::kCorrupt,
               "a.json: has 5 bytes, the limit for this file is 4");
}

}  // namespace
}  // namespace moe::io
