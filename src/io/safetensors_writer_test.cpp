#include "io/safetensors_writer.hpp"

#include "io/checkpoint.hpp"
#include "io/safetensors.hpp"
#include "io/test_files.hpp"

namespace moe::io {
namespace {

std::string text_of(const TensorInfo& tensor) {
  return {reinterpret_cast<const char*>(tensor.data), tensor.bytes};
}

TEST(SafetensorsWriter, WhatIsWrittenIsReadBack) {
  const TestFolder folder;
  const auto path = folder / "w.safetensors";
  const std::vector<NamedTensor> tensors = {
      {{"bytes \"q\" é", StoredType::kU8, {3}}, bytes_of_text("abc")},
      {{"wide", StoredType::kF32, {1, 2}}, bytes_of_text("12345678")},
      {{"empty", StoredType::kI64, {0, 5}}, {}},
      {{"half", StoredType::kBf16, {}}, bytes_of_text("xy")}};
  ASSERT_TRUE(write_safetensors(path, tensors, {{"format", "pt"}}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "w.safetensors.partial"));
  const auto file = SafetensorsFile::open(path, 0, DataAccess::kHeadersOnly).value();
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const NamedTensor& tensor : tensors) {
    const TensorInfo* read = file.find(tensor.spec.name);
    ASSERT_NE(read, nullptr) << tensor.spec.name;
    EXPECT_TRUE(read->aligned) << tensor.spec.name;
    EXPECT_EQ(read->type, tensor.spec.type);
    EXPECT_EQ(read->shape, tensor.spec.shape);
    EXPECT_EQ(text_of(*read),
              std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
  }
  ASSERT_EQ(file.metadata().size(), 1U);
  EXPECT_EQ(file.metadata()[0].second, "pt");
}

TEST(SafetensorsWriter, NoTensorsGiveAValidFile) {
  const TestFolder folder;
  ASSERT_TRUE(write_safetensors(folder / "w.safetensors", {}).ok());
  EXPECT_TRUE(SafetensorsFile::open(folder / "w.safetensors").value().tensors().empty());
}

TEST(SafetensorsWriter, DataMayComeInPiecesAndInAnyOrder) {
  const TestFolder folder;
  auto writer = SafetensorsWriter::create(folder / "w.safetensors", {{"a", StoredType::kU8, {4}},
                                                                     {"b", StoredType::kF32, {1}}})
                    .value();
  ASSERT_TRUE(writer.append(1, bytes_of_text("12")).ok());
  ASSERT_TRUE(writer.append(0, bytes_of_text("abcd")).ok());
  expect_error(writer.finish(), ErrorCode::kInvalidArgument, "tensor \"b\": got 2 of 4 bytes");
  ASSERT_TRUE(writer.append(1, bytes_of_text("34")).ok());
  expect_error(writer.append(1, bytes_of_text("5")), ErrorCode::kInvalidArgument,
               "tensor \"b\": 1 bytes after 4, its shape holds 4");
  expect_error(writer.append(2, {}), ErrorCode::kInvalidArgument, "tensor number 2 of 2");
  ASSERT_TRUE(writer.finish().ok());
  const auto file = SafetensorsFile::open(folder / "w.safetensors").value();
  EXPECT_EQ(text_of(*file.find("a")), "abcd");
  EXPECT_EQ(text_of(*file.find("b")), "1234");
}

TEST(SafetensorsWriter, GivenUpWriterLeavesTheOldFile) {
  const TestFolder folder;
  const auto path = folder.write("w.safetensors", "old");
  {
    auto writer = SafetensorsWriter::create(path, {{"a", StoredType::kU8, {4}}}).value();
    auto moved = std::move(writer);
    EXPECT_TRUE(std::filesystem::exists(folder / "w.safetensors.partial"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "w.safetensors.partial"));
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

TEST(SafetensorsWriter, BadSpecsGiveInvalidArgument) {
  const TestFolder folder;
  const auto path = folder / "w.safetensors";
  const auto create = [&](std::vector<TensorSpec> specs, FileMetadata metadata = {}) {
    return SafetensorsWriter::create(path, std::move(specs), metadata);
  };
  const auto code = ErrorCode::kInvalidArgument;
  const StoredType type = StoredType::kF32;
  expect_error(create({{"a", type, {}}, {"a", type, {}}}), code, "\"a\" is taken");
  expect_error(create({{"__metadata__", type, {}}}), code, "is taken or reserved");
  expect_error(create({{"a", type, {-1}}}), code, "shape [-1] is negative");
  expect_error(create({{"a", type, {INT64_MAX, 2}}}), code, "too large");
  expect_error(create({{"a", type, {INT64_MAX / 4}}, {"b", type, {INT64_MAX / 4}}}), code, "2^63");
  expect_error(create({{"\xff", type, {}}}), code, "not valid UTF-8");
  expect_error(create({}, {{"k", "\xff"}}), code, "not valid UTF-8");
  expect_error(create({}, {{"k", ""}, {"k", ""}}), code, "\"k\" is given twice");
  expect_error(create({{std::string(kMaxTensorNameBytes + 1, 'x'), type, {}}}), code, "1025 bytes");
  EXPECT_TRUE(create({{std::string(kMaxTensorNameBytes, 'x'), type, {}}}).ok());
  expect_error(create({{"a", type, std::vector<int64_t>(kMaxTensorRank + 1, 1)}}), code,
               "17 dimensions");
  expect_error(SafetensorsWriter::create(folder / "none" / "w", {}), code, "cannot write: No such");
}

TEST(WriteCheckpoint, ShardsAndIndexAreReadBack) {
  const TestFolder folder;
  std::vector<NamedTensor> tensors;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    tensors.push_back({{name, StoredType::kU8, {1}}, bytes_of_text(name)});
  }
  ASSERT_TRUE(write_checkpoint(folder.path(), tensors, 3).ok());
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  EXPECT_EQ(checkpoint->shard_count(), 3U);
  ASSERT_EQ(checkpoint->tensors().size(), 5U);
  for (const NamedTensor& tensor : tensors) {
    EXPECT_EQ(text_of(*checkpoint->find(tensor.spec.name)), tensor.spec.name);
  }
}

}  // namespace
}  // namespace moe::io
