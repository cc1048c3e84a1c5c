#include "io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "io/test_files.hpp"

namespace moe::io {
namespace {

using testing::ElementsAre;

Result<SafetensorsHeader> parse(const std::string& image) {
  return parse_safetensors(bytes_of_text(image), "f.safetensors");
}

std::string entry(std::string_view name, std::string_view type, std::string_view shape,
                  uint64_t begin, uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, type,
                     shape, begin, end);
}

// Expects corrupt with `part` for a header over `data_bytes` bytes of data.
void expect_corrupt(const std::string& header, size_t data_bytes, std::string_view part) {
  SCOPED_TRACE(header.substr(0, 200));
  const auto result = parse(safetensors_image(header, data_bytes));
  expect_error(result, ErrorCode::kCorrupt, part);
  if (!result.ok()) {
    EXPECT_THAT(result.error().message, testing::StartsWith("f.safetensors: "));
  }
}

TEST(SafetensorsHeader, TensorsComeInTheOrderOfTheirData) {
  const std::string image = safetensors_image(
      R"({"__metadata__":{"format":"pt","é":"\n"},)" + entry("b", "F32", "[2]", 6, 14) + "," +
          entry("a", "BF16", "[1, 3]", 0, 6) + "," + entry("empty", "F64", "[0,7]", 6, 6) + "," +
          entry("scalar", "U8", "[]", 14, 15) + "}   ",
      15);
  const auto header = parse(image).value();
  ASSERT_EQ(header.tensors.size(), 4U);
  EXPECT_EQ(header.data_begin, image.size() - 15);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type, StoredType::kBf16);
  EXPECT_THAT(header.tensors[0].shape, ElementsAre(1, 3));
  EXPECT_EQ(header.tensors[0].bytes, 6U);
  EXPECT_EQ(header.tensors[1].name, "empty");
  EXPECT_EQ(header.tensors[1].bytes, 0U);
  EXPECT_EQ(header.tensors[2].name, "b");
  EXPECT_EQ(static_cast<int>(header.tensors[2].data[0]), 6);
  EXPECT_EQ(header.tensors[3].name, "scalar");
  EXPECT_TRUE(header.tensors[3].shape.empty());
  ASSERT_EQ(header.metadata.size(), 2U);
  EXPECT_EQ(header.metadata[1], std::pair(std::string("é"), std::string("\n")));
}

TEST(SafetensorsHeader, FileWithoutTensorsIsValid) {
  EXPECT_TRUE(parse(safetensors_image("{}")).value().tensors.empty());
  EXPECT_TRUE(parse(safetensors_image(R"({"__metadata__":{}})")).value().tensors.empty());
}

TEST(SafetensorsHeader, EveryTypeOfTheFormatIsRead) {
  for (StoredType type : kAllStoredTypes) {
    const auto bytes = static_cast<uint64_t>(size_of(type)) * 3;
    const auto header =
        parse(safetensors_image("{" + entry("t", name_of(type), "[3]", 0, bytes) + "}", bytes));
    ASSERT_TRUE(header.ok()) << header.error().message;
    EXPECT_EQ(header->tensors[0].type, type);
  }
}

TEST(SafetensorsHeader, BrokenFramingGivesCorrupt) {
  expect_error(parse(""), ErrorCode::kCorrupt, "f.safetensors: has 0 bytes, wanted at least 8");
  expect_error(parse("1234567"), ErrorCode::kCorrupt, "has 7 bytes, wanted at least 8");
  std::string image = safetensors_image("{}");
  image[0] = 3;
  expect_error(parse(image), ErrorCode::kCorrupt,
               "header length at file offset 0 is 3, but 2 bytes follow: the file is truncated");
  image[7] = '\xff';
  expect_error(parse(image), ErrorCode::kCorrupt,
               "is 18374686479671623683, the limit is 100000000");
  expect_error(parse(safetensors_image("")), ErrorCode::kCorrupt,
               "header at file offset 8 begins with \"\", wanted '{'");
  expect_error(parse("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
               ErrorCode::kCorrupt, "is a Git LFS pointer");
}

TEST(SafetensorsHeader, HeaderLengthAtTheLimitPassesAndOnePastItIsCorrupt) {
  std::string header(kMaxSafetensorsHeaderBytes, ' ');
  header.replace(0, 2, "{}");
  EXPECT_TRUE(parse(safetensors_image(header)).ok());
  header += ' ';
  expect_error(parse(safetensors_image(header)), ErrorCode::kCorrupt,
               "header length at file offset 0 is 100000001, the limit is 100000000");
}

TEST(SafetensorsHeader, HeaderThatIsNoObjectGivesCorrupt) {
  expect_corrupt(" {}", 0, "header at file offset 8 begins with \" \", wanted '{'");
  expect_corrupt("[]", 0, "begins with \"[\"");
  expect_corrupt("{}\n", 0, "header ends with \"\\x0a\" at file offset 10, wanted '}'");
  expect_corrupt(std::string("{}\0", 3), 0, "header ends with \"\\x00\" at file offset 10");
  expect_corrupt("{", 0, "header ends with \"{\"");
  expect_corrupt(std::string("{}\0{}", 5), 0, "no valid JSON at file offset 10: a zero byte");
  expect_corrupt("{}{}", 0, "no valid JSON at file offset 10");
  expect_corrupt(R"({"a":})", 0, "no valid JSON at file offset 13");
  expect_corrupt("{\"\xff\":{}}", 0, "no valid JSON");
  expect_corrupt(R"({"a":{"dtype":"F32",}})", 0, "no valid JSON");
}

TEST(SafetensorsHeader, DuplicateKeysGiveCorrupt) {
  expect_corrupt("{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("a", "U8", "[1]", 1, 2) + "}", 2,
                 "header: duplicate tensor \"a\"");
  expect_corrupt(
      "{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("\\u0061", "U8", "[1]", 1, 2) + "}", 2,
      "header: duplicate tensor \"a\"");
  expect_corrupt(R"({"__metadata__":{},"__metadata__":{}})", 0, "duplicate key \"__metadata__\"");
  expect_corrupt(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "duplicate metadata key \"k\"");
  expect_corrupt(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0,
                 "tensor \"a\": duplicate key \"dtype\"");
  expect_corrupt(R"({"a":{"shape":[],"shape":[]}})", 0, "tensor \"a\": duplicate key \"shape\"");
  expect_corrupt(R"({"a":{"data_offsets":[0,0],"data_offsets":[0,0]}})", 0,
                 "tensor \"a\": duplicate key \"data_offsets\"");
}

TEST(SafetensorsHeader, WrongMetadataGivesCorrupt) {
  expect_corrupt(R"({"__metadata__":"pt"})", 0, "__metadata__ is a string, wanted an object");
  expect_corrupt(R"({"__metadata__":null})", 0, "__metadata__ is null, wanted an object");
  expect_corrupt(R"({"__metadata__":{"n":1}})", 0, "value of \"n\" is a number, wanted a string");
  expect_corrupt(R"({"__metadata__":{"n":{}}})", 0, "value of \"n\" is an object, wanted a string");
  expect_corrupt(R"({"__metadata__":{"n":["x"]}})", 0, "\"n\" is an array, wanted a string");
}

TEST(SafetensorsHeader, WrongTensorEntryGivesCorruptWithNameAndOffset) {
  expect_corrupt(R"({"a":1})", 0, "header at file offset 15: tensor \"a\": entry is a number");
  expect_corrupt(R"({"a":[]})", 0, "tensor \"a\": entry is an array, wanted an object");
  expect_corrupt(R"({"a":{}})", 0, "tensor \"a\": has no dtype");
  expect_corrupt(R"({"a":{"dtype":"U8"}})", 0, "tensor \"a\": has no shape");
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[]}})", 1, "tensor \"a\": has no data_offsets");
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[],"x":1}})", 1, "tensor \"a\": unknown key \"x\"");
  expect_corrupt(R"({"a":{"dtype":7}})", 0, "tensor \"a\": dtype is a number, wanted a string");
  expect_corrupt(R"({"a":{"dtype":"bf16"}})", 0, "tensor \"a\": unknown dtype \"bf16\"");
  expect_corrupt(R"({"a":{"shape":4}})", 0, "tensor \"a\": shape is a number, wanted an array");
  expect_corrupt(R"({"a":{"shape":{}}})", 0, "tensor \"a\": shape is an object, wanted an array");
  for (const char* element :
       {"-1", "1.0", "1e3", "\"4\"", "null", "true", "[]", "{}", "-0", "18446744073709551616"}) {
    expect_corrupt(fmt::format(R"({{"a":{{"shape":[2,{}]}}}})", element), 0,
                   "wanted a non-negative integer");
    expect_corrupt(fmt::format(R"({{"a":{{"data_offsets":[0,{}]}}}})", element), 0,
                   "tensor \"a\": element of data_offsets is ");
  }
  const std::string start = R"({"a":{"dtype":"U8","shape":[],"data_offsets":)";
  expect_corrupt(start + "[]}}", 0, "tensor \"a\": data_offsets has 0 numbers");
  expect_corrupt(start + "[0]}}", 1, "tensor \"a\": data_offsets has 1 numbers");
  expect_corrupt(start + "[0,1,1]}}", 1, "tensor \"a\": data_offsets has more than 2 numbers");
}

TEST(SafetensorsHeader, TypeWithoutUseHereGivesUnsupported) {
  const auto result = parse(safetensors_image(R"({"a":{"dtype":"F8_E8M0"}})"));
  expect_error(result, ErrorCode::kUnsupported, "tensor \"a\": dtype \"F8_E8M0\" is not handled");
}

TEST(SafetensorsHeader, OffsetsOutsideTheDataGiveCorrupt) {
  const std::string header = "{" + entry("a", "U8", "[4]", 0, 4) + "}";
  EXPECT_TRUE(parse(safetensors_image(header, 4)).ok());
  expect_corrupt(header, 3,
                 fmt::format("tensor \"a\": data_offsets [0, 4) end past the file's data: the file "
                             "is truncated (data area of 3 bytes from file offset {})",
                             8 + header.size()));
  expect_corrupt("{" + entry("a", "U8", "[4]", 4, 0) + "}", 4,
                 "tensor \"a\": data_offsets [4, 0) begin after their end");
  expect_corrupt("{" + entry("a", "U8", "[4]", UINT64_MAX - 3, UINT64_MAX) + "}", 4,
                 "data_offsets [18446744073709551612, 18446744073709551615) end past");
}

TEST(SafetensorsHeader, SizeThatDiffersFromTheShapeGivesCorrupt) {
  const std::string header = "{" + entry("a", "BF16", "[2, 3]", 0, 10) + "}";
  expect_corrupt(header, 10,
                 fmt::format("tensor \"a\": data_offsets [0, 10) hold 10 bytes, wanted 12 for BF16 "
                             "[2, 3] (file offset {})",
                             8 + header.size()));
  expect_corrupt("{" + entry("a", "U8", "[]", 0, 0) + "}", 0, "hold 0 bytes, wanted 1");
  expect_corrupt("{" + entry("a", "U8", "[0]", 0, 1) + "}", 1, "hold 1 bytes, wanted 0");
}

TEST(SafetensorsHeader, ShapeWhoseSizeOverflowsGivesCorrupt) {
  for (const char* shape : {"[9223372036854775807,2]", "[4294967296,4294967296]",
                            "[0,4294967296,4294967296]", "[4611686018427387904]"}) {
    expect_corrupt("{" + entry("a", "BF16", shape, 0, 0) + "}", 0, "tensor \"a\": shape");
  }
  expect_corrupt("{" + entry("a", "U8", "[9223372036854775808]", 0, 0) + "}", 0,
                 "dimension 9223372036854775808 is larger than 9223372036854775807");
  // 2^63 - 1 bytes fit the arithmetic, and then not the file.
  expect_corrupt("{" + entry("a", "U8", "[9223372036854775807]", 0, 0) + "}", 0, "hold 0 bytes");
}

TEST(SafetensorsHeader, OverlapGapAndRestGiveCorrupt) {
  const auto header = [](uint64_t begin, uint64_t end) {
    return "{" + entry("a", "U8", "[4]", 0, 4) + "," +
           entry("b", "U8", fmt::format("[{}]", end - begin), begin, end) + "}";
  };
  EXPECT_TRUE(parse(safetensors_image(header(4, 8), 8)).ok());
  const size_t data = 8 + header(4, 8).size();
  expect_corrupt(
      header(3, 8), 8,
      fmt::format("tensor \"b\": data at file offset {} overlaps tensor \"a\", which ends "
                  "at {}",
                  data + 3, data + 4));
  expect_corrupt(header(0, 8), 8, "overlaps tensor \"a\"");
  expect_corrupt(header(2, 2), 4, "tensor \"b\": data at file offset");
  expect_corrupt(header(5, 8), 8,
                 fmt::format("tensor \"b\": data begins at file offset {}, which leaves a gap of 1 "
                             "bytes after {}",
                             data + 5, data + 4));
  expect_corrupt(header(4, 8), 9,
                 fmt::format("1 bytes from file offset {} belong to no", data + 8));
  expect_corrupt("{" + entry("a", "U8", "[1]", 1, 2) + "}", 2, "leaves a gap of 1 bytes");
  expect_corrupt("{}", 1, "1 bytes from file offset 10 belong to no tensor");
}

TEST(SafetensorsHeader, NameAndRankAtTheLimitPassAndOnePastAreCorrupt) {
  const std::string name(kMaxTensorNameBytes, 'n');
  EXPECT_TRUE(parse(safetensors_image("{" + entry(name, "U8", "[0]", 0, 0) + "}")).ok());
  expect_corrupt("{" + entry(name + "n", "U8", "[0]", 0, 0) + "}", 0,
                 "has 1025 bytes, the limit is 1024");
  const auto ones = [](size_t rank) {
    return fmt::format("[{}]", fmt::join(std::vector<int>(rank, 1), ","));
  };
  const std::string shape = ones(kMaxTensorRank);
  EXPECT_TRUE(parse(safetensors_image("{" + entry("a", "U8", shape, 0, 1) + "}", 1)).ok());
  expect_corrupt("{" + entry("a", "U8", ones(kMaxTensorRank + 1), 0, 1) + "}", 1,
                 "tensor \"a\": shape has more than 16 dimensions");
}

TEST(SafetensorsHeader, CountsAtTheLimitPassAndOnePastAreCorrupt) {
  const SafetensorsLimits limits{.tensors = 2, .metadata_entries = 2};
  const auto parse_limited = [&](const std::string& header) {
    return parse_safetensors(bytes_of_text(safetensors_image(header)), "f.safetensors", 0, limits);
  };
  const std::string metadata = R"({"__metadata__":{"a":"","b":"")";
  EXPECT_TRUE(parse_limited(metadata + "}}").ok());
  expect_error(parse_limited(metadata + R"(,"c":""}})"), ErrorCode::kCorrupt,
               "more than 2 metadata entries");
  const std::string tensors =
      "{" + entry("a", "U8", "[0]", 0, 0) + "," + entry("b", "U8", "[0]", 0, 0);
  EXPECT_TRUE(parse_limited(tensors + "}").ok());
  expect_error(parse_limited(tensors + "," + entry("c", "U8", "[0]", 0, 0) + "}"),
               ErrorCode::kCorrupt, "more than 2 tensors");
}

TEST(SafetensorsHeader, HostileNameIsEscapedAndCutInTheMessage) {
  expect_corrupt(R"({"\u001b[2J\"\n)" + std::string(500, 'x') + R"(":1})", 0,
                 R"(tensor "\x1b[2J\"\x0a)");
  expect_corrupt(R"({")" + std::string(500, 'x') + R"(":1})", 0, "xxx... (500 bytes)\": entry is");
}

TEST(SafetensorsHeader, DeepNestingGivesCorrupt) {
  expect_corrupt(R"({"a":{"shape":)" + std::string(100'000, '[') + "}", 0,
                 "tensor \"a\": element of shape is an array");
}

TEST(SafetensorsFile, FindsTensorsByName) {
  const TestFolder folder;
  const auto path = folder.write(
      "t.safetensors",
      safetensors_image(
          "{" + entry("b", "U8", "[2]", 0, 2) + "," + entry("a", "U8", "[3]", 2, 5) + "}", 5));
  const auto file = SafetensorsFile::open(path).value();
  EXPECT_EQ(file.path(), path);
  ASSERT_NE(file.find("a"), nullptr);
  EXPECT_EQ(static_cast<int>(file.find("a")->data[0]), 2);
  EXPECT_EQ(file.find("b"), &file.tensors()[0]);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.find(""), nullptr);
}

TEST(SafetensorsFile, MisalignedTensorsAreCopiedAndKeepTheirBytes) {
  const TestFolder folder;
  std::string header = "{" + entry("h", "BF16", "[3]", 0, 6) + "," +
                       entry("f", "F32", "[2]", 6, 14) + "," + entry("e", "F32", "[0]", 14, 14) +
                       "," + entry("c", "U8", "[1]", 14, 15) + "}";
  header.resize((header.size() / 8 + 1) * 8 + 1, ' ');
  const auto path = folder.write("odd.safetensors", safetensors_image(header, 15));
  const auto listed = SafetensorsFile::open(path, 0, DataAccess::kHeadersOnly).value();
  EXPECT_FALSE(listed.find("h")->aligned);
  EXPECT_FALSE(listed.find("f")->aligned);
  EXPECT_TRUE(listed.find("c")->aligned);

  const auto file = SafetensorsFile::open(path).value();
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_TRUE(tensor.aligned) << tensor.name;
    const auto element = static_cast<uintptr_t>(size_of(tensor.type));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % element, 0U) << tensor.name;
    const auto* original = listed.find(tensor.name)->data;
    EXPECT_TRUE(std::equal(tensor.data, tensor.data + tensor.bytes, original)) << tensor.name;
  }
}

size_t resident_bytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(SafetensorsFile, OpeningEightGibibytesTouchesTheHeaderOnly) {
  const TestFolder folder;
  constexpr uint64_t kData = uint64_t{8} << 30;
  std::string header = "{" + entry("big", "BF16", "[65536,65536]", 0, kData) + "}";
  header.resize((header.size() / 8 + 1) * 8, ' ');
  const std::string image = safetensors_image(header);
  const auto path = folder.write("big.safetensors", image);
  std::error_code error;
  std::filesystem::resize_file(path, image.size() + kData, error);
  if (error) GTEST_SKIP() << "the file system has no sparse files: " << error.message();
  const size_t before = resident_bytes();
  const auto file = SafetensorsFile::open(path);
  const size_t after = resident_bytes();
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors()[0].bytes, kData);
  EXPECT_LT(after, before + (size_t{4} << 20));
}

}  // namespace
}  // namespace moe::io
