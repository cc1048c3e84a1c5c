// The reader of code objects: what a compiled object says, and that damaged ones are refused.
#include "rdna/code_object.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "rdna/elf_file.hpp"
#include "rdna/testing/toolchain.hpp"

namespace moe::sim::rdna {
namespace {

using ::testing::HasSubstr;

// testdata/variables.hip, compiled, so that the tests of damaged
// files need no compiler.
std::vector<std::byte> sample() {
  return testing::read_bytes(std::string(MOE_SOURCE_DIR) +
                             "/tests/fuzz/corpus/code_object/variables.gfx1100.hsaco");
}

template <class Int>
void store(std::vector<std::byte>& bytes, size_t offset, Int value) {
  ASSERT_LE(offset + sizeof(Int), bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(Int));
}

template <class Int>
Int load(const std::vector<std::byte>& bytes, size_t offset) {
  Int value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(Int));
  return value;
}

void expect_refused(const std::vector<std::byte>& bytes, const std::string& part) {
  const auto object = parse_code_object(bytes, "sample");
  ASSERT_FALSE(object.ok()) << part;
  EXPECT_THAT(object.error().message, HasSubstr(part));
  EXPECT_THAT(object.error().message, HasSubstr("sample"));
  EXPECT_FALSE(object.error().fix.empty());
}

size_t find_text(const std::vector<std::byte>& bytes, std::string_view text) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.find(text);
}

TEST(CodeObject, SampleGivesKernelsVariablesAndRelocations) {
  const auto object = parse_code_object(sample(), "sample");
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(object->target, "gfx1100");
  EXPECT_EQ(object->version, 5u);
  ASSERT_EQ(object->kernels.size(), 1u);
  const Kernel* kernel = object->find_kernel("k");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(object->find_kernel("other"), nullptr);
  EXPECT_EQ(kernel->metadata.kernarg_segment_bytes, 16u);
  ASSERT_EQ(kernel->metadata.arguments.size(), 3u);
  EXPECT_EQ(kernel->metadata.arguments[0].value_kind, "global_buffer");
  EXPECT_EQ(kernel->metadata.arguments[1].offset, 8u);
  EXPECT_EQ(kernel->metadata.arguments[2].size, 1u);
  EXPECT_EQ(kernel->descriptor.group_segment_fixed_bytes, 256u);
  EXPECT_TRUE(kernel->descriptor.wave32);
  EXPECT_TRUE(kernel->descriptor.kernarg_pointer);
  EXPECT_TRUE(kernel->descriptor.ieee_mode);
  EXPECT_TRUE(kernel->descriptor.dx10_clamp);
  EXPECT_TRUE(kernel->descriptor.workgroup_id_x);
  EXPECT_EQ(kernel->descriptor.denormals_32, FloatDenormals::kKeep);
  EXPECT_EQ(kernel->descriptor.user_sgpr_count, 15u);
  EXPECT_EQ(kernel->code_address % 256, 0u);
  EXPECT_EQ(object->code_words(kernel->code_address, kernel->code_bytes).size(),
            kernel->code_bytes / 4);
  ASSERT_EQ(object->relocations.size(), 2u);
  EXPECT_EQ(object->relocations[1].address, object->relocations[0].address + 8);
  bool table = false;
  for (const DeviceVariable& variable : object->variables)
    table = table || variable.name == "table";
  EXPECT_TRUE(table);
}

TEST(CodeObject, EveryTruncationGivesAnError) {
  const auto whole = sample();
  for (size_t size = 0; size < whole.size(); size += 1 + size / 64) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_FALSE(parse_code_object(cut, "cut").ok()) << size;
  }
}

TEST(CodeObject, EveryByteChangedGivesNoCrash) {
  auto bytes = sample();
  size_t accepted = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::byte kept = bytes[i];
    bytes[i] = kept ^ std::byte{0xff};
    accepted += parse_code_object(bytes, "changed").ok() ? 1 : 0;
    bytes[i] = kept;
  }
  EXPECT_LT(accepted, bytes.size());
}

TEST(CodeObject, OtherMachineIsRefused) {
  auto bytes = sample();
  store<uint16_t>(bytes, 18, 62);
  expect_refused(bytes, "ELF machine 62");
  bytes = sample();
  store<uint32_t>(bytes, 48, 0x36);
  expect_refused(bytes, "machine 0x36");
  bytes = sample();
  store<uint8_t>(bytes, 8, 1);
  expect_refused(bytes, "ABI version 1");
  bytes = sample();
  store<uint32_t>(bytes, 48, 0x46);
  expect_refused(bytes, "e_flags say gfx1101");
}

TEST(CodeObject, NoElfIsRefused) {
  auto bytes = sample();
  store<uint8_t>(bytes, 0, 0);
  expect_refused(bytes, "no ELF magic");
  std::memcpy(bytes.data(), "__CLANG_OFFLOAD_BUNDLE__", 24);
  expect_refused(bytes, "offload bundle");
  bytes = sample();
  store<uint8_t>(bytes, 4, 1);
  expect_refused(bytes, "ELF class 1");
  expect_refused({}, "0 bytes");
}

TEST(CodeObject, AbsurdTablesAreRefused) {
  auto bytes = sample();
  store<uint16_t>(bytes, 56, kMaxProgramHeaders + 1);
  expect_refused(bytes, "65 program headers");
  bytes = sample();
  store<uint16_t>(bytes, 60, kMaxSections + 1);
  expect_refused(bytes, "4097 section headers");
  bytes = sample();
  store<uint64_t>(bytes, 40, ~uint64_t{0} - 10);
  expect_refused(bytes, "the section header table lies at");
}

// Offset of the program header of the n-th loaded segment.
size_t load_header(const std::vector<std::byte>& bytes, int n) {
  for (size_t i = 0;; ++i) {
    const size_t header = 64 + 56 * i;
    if (load<uint32_t>(bytes, header) == 1 && n-- == 0) return header;
  }
}

TEST(CodeObject, OverlappingSegmentsAreRefused) {
  auto bytes = sample();
  const size_t first = load_header(bytes, 0);
  store<uint64_t>(bytes, first + 40, uint64_t{0x1601});
  expect_refused(bytes, "overlaps");
  bytes = sample();
  store<uint64_t>(bytes, first + 40, uint64_t{1});
  expect_refused(bytes, "bytes in the file and 1 in memory");
}

TEST(CodeObject, AbsurdSegmentsAreRefused) {
  auto bytes = sample();
  const size_t last = load_header(bytes, 3);
  const auto address = load<uint64_t>(bytes, last + 16);
  store<uint64_t>(bytes, last + 40, kMaxImageBytes - address);
  EXPECT_TRUE(parse_code_object(bytes, "at the limit").ok());
  store<uint64_t>(bytes, last + 40, kMaxImageBytes - address + 1);
  expect_refused(bytes, "the limit is");
  store<uint64_t>(bytes, last + 40, ~uint64_t{0});
  expect_refused(bytes, "wraps around");
}

TEST(CodeObject, MissingNoteIsRefused) {
  auto bytes = sample();
  const size_t name = find_text(bytes, std::string_view("AMDGPU\0", 7));
  store<uint8_t>(bytes, name, 'B');
  expect_refused(bytes, "no NT_AMDGPU_METADATA note");
}

TEST(CodeObject, DamagedMetadataIsRefused) {
  auto bytes = sample();
  store<uint8_t>(bytes, find_text(bytes, ".vgpr_count"), ',');
  expect_refused(bytes, ".vgpr_count is missing");
  bytes = sample();
  store<uint8_t>(bytes, find_text(bytes, "gfx1100") + 6, '1');
  expect_refused(bytes, "amdhsa.target");
}

TEST(CodeObject, DescriptorMustAgreeWithMetadata) {
  const auto whole = sample();
  const auto object = parse_code_object(whole, "sample");
  ASSERT_TRUE(object.ok());
  const auto descriptor = static_cast<size_t>(object->kernels[0].descriptor_address);
  auto bytes = whole;
  store<uint32_t>(bytes, descriptor, 260);
  expect_refused(bytes, "the group segment is 256 in the metadata and 260 in the descriptor");
  bytes = whole;
  store<int64_t>(bytes, descriptor + 16, 0x1000);
  expect_refused(bytes, "entry 0x");
  bytes = whole;
  store<uint8_t>(bytes, descriptor + 12, 1);
  expect_refused(bytes, "reserved byte 12");
  bytes = whole;
  store<uint16_t>(bytes, descriptor + 56, 0x008);
  expect_refused(bytes, "waves of 64 lanes");
  bytes = whole;
  store<uint32_t>(bytes, descriptor + 48, load<uint32_t>(whole, descriptor + 48) | 63);
  expect_refused(bytes, "512 VGPRs");
}

TEST(CodeObject, OtherRelocationsAreRefused) {
  auto bytes = sample();
  const auto elf = read_elf(bytes, "sample");
  ASSERT_TRUE(elf.ok());
  for (const ElfSection& section : elf->sections) {
    if (section.name != ".rela.dyn") continue;
    const auto offset = static_cast<size_t>(section.bytes.data() - bytes.data());
    store<uint32_t>(bytes, offset + 8, 3);
    expect_refused(bytes, "relocation type 3");
    store<uint32_t>(bytes, offset + 8, 13);
    store<uint64_t>(bytes, offset, kMaxImageBytes);
    expect_refused(bytes, "outside the segments");
    return;
  }
  FAIL() << "the sample has no relocations";
}

TEST(CodeObject, CompiledVersionsAndTargetsAreRead) {
  if (const std::string missing = testing::missing_tools(); !missing.empty())
    GTEST_SKIP() << missing;
  const std::string source = std::string(MOE_SOURCE_DIR) + "/sim/rdna/testdata/lanes.hip";
  for (const uint32_t version : {4u, 5u, 6u}) {
    testing::ScratchFolder folder;
    const auto bytes = testing::compile_hip(folder, source, "gfx1100",
                                            fmt::format("-mcode-object-version={} -w", version));
    const auto object = parse_code_object(bytes, "lanes");
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_EQ(object->version, version);
    ASSERT_EQ(object->kernels.size(), 3u);
    EXPECT_GT(object->find_kernel("memory")->metadata.private_segment_fixed_bytes, 0u);
    EXPECT_TRUE(object->find_kernel("memory")->descriptor.scratch);
  }
  for (const char* target : {"gfx1200", "gfx1201"}) {
    testing::ScratchFolder folder;
    const auto object = parse_code_object(
        testing::compile_hip(folder, std::string(MOE_SOURCE_DIR) + "/sim/rdna/testdata/sort.hip",
                             target),
        "sort");
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_EQ(object->target, target);
  }
}

}  // namespace
}  // namespace moe::sim::rdna
