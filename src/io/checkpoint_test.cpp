#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <ctime>

#include "io/safetensors_writer.hpp"
#include "io/test_files.hpp"

namespace moe::io {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

// A file of one-byte tensors with these names.
std::string shard_of(std::initializer_list<const char*> names) {
  std::string header = "{";
  size_t count = 0;
  for (const char* name : names) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          count > 0 ? "," : "", name, count, count + 1);
    ++count;
  }
  return safetensors_image(header + "}", count);
}

TEST(Checkpoint, SingleFileGivesItsTensorsSortedByName) {
  const TestFolder folder;
  folder.write("model.safetensors", shard_of({"b", "a", "c"}));
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  EXPECT_EQ(checkpoint->shard_count(), 1U);
  EXPECT_EQ(checkpoint->total_bytes(), 3U);
  ASSERT_EQ(checkpoint->tensors().size(), 3U);
  EXPECT_EQ(checkpoint->tensors()[0].name, "a");
  EXPECT_EQ(checkpoint->find("c")->data[0], std::byte{2});
  EXPECT_EQ(checkpoint->find("d"), nullptr);
  EXPECT_EQ(checkpoint->file_of(*checkpoint->find("a")), folder / "model.safetensors");
}

TEST(Checkpoint, TensorsUnderAPrefixAreARange) {
  const TestFolder folder;
  folder.write("model.safetensors", shard_of({"a", "a.x", "a.y", "a.y.z", "b", "a/"}));
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  EXPECT_EQ(checkpoint->tensors_under("a.").size(), 3U);
  EXPECT_EQ(checkpoint->tensors_under("").size(), 6U);
  EXPECT_EQ(checkpoint->tensors_under("c").size(), 0U);
}

TEST(Checkpoint, SingleFileGoesBeforeAnIndex) {
  const TestFolder folder;
  folder.write("model.safetensors", shard_of({"a"}));
  folder.write(kIndex, "broken");
  EXPECT_TRUE(Checkpoint::open(folder.path()).ok());
}

TEST(Checkpoint, ShardsFollowTheIndex) {
  const TestFolder folder;
  folder.write("one", shard_of({"a", "unlisted"}));
  folder.write("two", shard_of({"b"}));
  folder.write(kIndex, R"({"metadata":{"total_size":99},"weight_map":{"b":"two","a":"one"}})");
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  EXPECT_EQ(checkpoint->shard_count(), 2U);
  EXPECT_EQ(checkpoint->tensors().size(), 2U);
  EXPECT_EQ(checkpoint->total_bytes(), 2U);
  EXPECT_EQ(checkpoint->find("unlisted"), nullptr);
  EXPECT_EQ(checkpoint->file_of(*checkpoint->find("b")), folder / "two");
}

TEST(Checkpoint, IndexAndShardsThatDisagreeGiveCorrupt) {
  const TestFolder folder;
  folder.write("one", shard_of({"a", "b"}));
  folder.write("two", shard_of({"b"}));
  folder.write(kIndex, R"({"weight_map":{"b":"two","a":"one"}})");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kCorrupt,
               "one: tensor \"b\" is in this shard, the index says two");
  folder.write("one", shard_of({"a"}));
  folder.write(kIndex, R"({"weight_map":{"b":"two","a":"one","c":"one"}})");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kCorrupt,
               "tensor \"c\" is listed in shard one, which does not hold it");
}

TEST(Checkpoint, MissingShardGivesNotFound) {
  const TestFolder folder;
  folder.write("one", shard_of({"a"}));
  folder.write(kIndex, R"({"weight_map":{"a":"one","b":"two"}})");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kNotFound,
               "two: the index names this shard, but there is no such file");
}

TEST(Checkpoint, IndexSizeAtTheLimitIsReadAndOnePastItIsCorrupt) {
  const TestFolder folder;
  folder.write("one", shard_of({"a"}));
  std::string text = R"({"weight_map":{"a":"one"}})";
  text.resize(kMaxIndexBytes, ' ');
  folder.write(kIndex, text);
  EXPECT_TRUE(Checkpoint::open(folder.path()).ok());
  folder.write(kIndex, text + " ");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kCorrupt,
               "index.json: has 100000001 bytes, the limit for this file is 100000000");
}

TEST(Checkpoint, BrokenShardIsNamed) {
  const TestFolder folder;
  folder.write("one", shard_of({"a"}) + "rest");
  folder.write(kIndex, R"({"weight_map":{"a":"one"}})");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kCorrupt,
               (folder / "one").string() + ": 4 bytes from file offset");
}

TEST(Checkpoint, FolderWithoutWeightsGivesNotFound) {
  const TestFolder folder;
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kNotFound,
               "has neither model.safetensors nor model.safetensors.index.json");
  expect_error(Checkpoint::open(folder / "none"), ErrorCode::kNotFound, "none: no such folder");
  expect_error(Checkpoint::open(folder.write("file", "")), ErrorCode::kInvalidArgument,
               "file: is not a folder, wanted a model folder");
  std::filesystem::create_directory(folder / "model.safetensors");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kInvalidArgument, "is a directory");
}

TEST(Checkpoint, LinkOutOfTheFolderGivesCorrupt) {
  const TestFolder elsewhere;
  elsewhere.write("one", shard_of({"a"}));
  const TestFolder folder;
  folder.write(kIndex, R"({"weight_map":{"a":"one"}})");
  std::filesystem::create_symlink(elsewhere / "one", folder / "one");
  expect_error(Checkpoint::open(folder.path()), ErrorCode::kCorrupt,
               "one: shard is a link that leaves the model folder, to " +
                   std::filesystem::canonical(elsewhere / "one").string());
  std::filesystem::remove(folder / "one");
  folder.write("real", shard_of({"a"}));
  std::filesystem::create_symlink("real", folder / "one");
  EXPECT_TRUE(Checkpoint::open(folder.path()).ok());
}

TEST(Checkpoint, DownloadCacheLayoutIsOpened) {
  const TestFolder cache;
  const auto snapshot = cache / "snapshots/0123";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(cache / "blobs");
  cache.write("blobs/h1", shard_of({"a"}));
  cache.write("blobs/h2", R"({"weight_map":{"a":"one"}})");
  cache.write("outside", shard_of({"a"}));
  std::filesystem::create_symlink("../../blobs/h1", snapshot / "one");
  std::filesystem::create_symlink("../../blobs/h2", snapshot / kIndex);
  EXPECT_TRUE(Checkpoint::open(snapshot).ok());
  std::filesystem::remove(snapshot / "one");
  std::filesystem::create_symlink("../../outside", snapshot / "one");
  expect_error(Checkpoint::open(snapshot), ErrorCode::kCorrupt, "leaves the model folder");
}

TEST(Checkpoint, RequireChecksTypeAndShape) {
  const TestFolder folder;
  const std::string data(12, 'x');
  ASSERT_TRUE(write_checkpoint(
                  folder.path(),
                  std::vector<NamedTensor>{{{"w", StoredType::kBf16, {2, 3}}, bytes_of_text(data)}},
                  1)
                  .ok());
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  const std::vector<int64_t> shape = {2, 3};
  const std::vector<int64_t> flipped = {3, 2};
  const std::vector<int64_t> longer = {2, 3, 1};
  EXPECT_EQ(checkpoint->require("w", StoredType::kBf16, shape).value(), checkpoint->find("w"));
  expect_error(checkpoint->require("v", StoredType::kBf16, shape), ErrorCode::kNotFound,
               "no tensor \"v\" (wanted BF16 [2, 3])");
  expect_error(checkpoint->require("w", StoredType::kF32, shape), ErrorCode::kUnsupported,
               "model.safetensors: tensor \"w\" has type BF16, wanted F32");
  for (const auto& wrong : {flipped, longer}) {
    expect_error(checkpoint->require("w", StoredType::kBf16, wrong), ErrorCode::kCorrupt,
                 "model.safetensors: tensor \"w\" has shape [2, 3], wanted [");
  }
}

TEST(Checkpoint, ManySmallTensorsOpenInUnderTwoSeconds) {
  const TestFolder folder;
  std::vector<NamedTensor> tensors;
  const std::string data(8, 'x');
  for (int i = 0; i < 31'337; ++i) {
    tensors.push_back(
        {{fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight", i / 400, i % 400),
          StoredType::kBf16,
          {2, 2}},
         bytes_of_text(data)});
  }
  ASSERT_TRUE(write_checkpoint(folder.path(), tensors, 16).ok());
  // Processor time, so that a busy machine does not fail the test.
  const std::clock_t begin = std::clock();
  const auto checkpoint = Checkpoint::open(folder.path()).value();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(checkpoint->tensors().size(), 31'337U);
  EXPECT_EQ(checkpoint->shard_count(), 16U);
  EXPECT_EQ(checkpoint->total_bytes(), 31'337U * 8);
  EXPECT_LT(seconds, 2.0);
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace moe::io
