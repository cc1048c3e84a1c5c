// Every instruction of compiled kernels (testdata/*.hip) against llvm-objdump-19, line by line,
// for every target that the simulator knows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "rdna/code_object.hpp"
#include "rdna/isa/decoder.hpp"
#include "rdna/isa/form.hpp"
#include "rdna/isa/printer.hpp"
#include "rdna/testing/toolchain.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kTargets[] = {"gfx1100", "gfx1101", "gfx1102",
                                    "gfx1103", "gfx1150", "gfx1151"};
constexpr const char* kFlags[] = {"", "-mcumode -O1",
                                  "-fgpu-flush-denormals-to-zero -munsafe-fp-atomics"};

// Padding included.
const LoadedSegment* code_segment(const CodeObject& object) {
  for (const LoadedSegment& segment : object.segments) {
    if (segment.executable) return &segment;
  }
  return nullptr;
}

class KernelOracle : public ::testing::TestWithParam<std::string> {};

void compare(const testing::ScratchFolder& folder, const std::string& source,
             const std::string& target, const std::string& flags, std::set<std::string>& seen) {
  const auto bytes = testing::compile_hip(folder, source, target, flags);
  const auto object = parse_code_object(bytes, source);
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(object->target, target);
  const LoadedSegment* code = code_segment(*object);
  ASSERT_NE(code, nullptr);
  const auto lines = testing::disassemble(folder.file("kernel." + target + ".hsaco"), target);
  const auto decoded = decode_all(object->code_words(code->address, code->bytes.size()),
                                  code->address, *isa_of(target));
  ASSERT_TRUE(decoded.ok()) << source << " " << target << ": " << decoded.error().message;
  EXPECT_EQ(decoded->size(), lines.size());
  for (const Instruction& instruction : *decoded) {
    const auto line = lines.find(instruction.address);
    ASSERT_NE(line, lines.end()) << fmt::format("0x{:x}", instruction.address);
    EXPECT_EQ(to_text(instruction), line->second.text) << source << " " << target;
    EXPECT_EQ(instruction.dword_count, line->second.dwords.size());
    seen.insert(
        fmt::format("{} {}{}", encoding_name(instruction.encoding), instruction.form->name,
                    instruction.second_form != nullptr ? instruction.second_form->name : ""));
  }
}

TEST_P(KernelOracle, TextEqualsObjdump) {
  if (const std::string missing = testing::missing_tools(); !missing.empty())
    GTEST_SKIP() << missing;
  const std::string source = fmt::format("{}/sim/rdna/testdata/{}.hip", MOE_SOURCE_DIR, GetParam());
  std::set<std::string> seen;
  for (const char* target : kTargets) {
    testing::ScratchFolder folder;
    compare(folder, source, target, "", seen);
  }
  for (const char* flags : kFlags) {
    testing::ScratchFolder folder;
    compare(folder, source, "gfx1100", flags, seen);
  }
  EXPECT_GT(seen.size(), 60u);
  std::fputs(fmt::format("{}: {} opcode/encoding forms\n", GetParam(), seen.size()).c_str(),
             stdout);
}

INSTANTIATE_TEST_SUITE_P(Sources, KernelOracle, ::testing::Values("gemm", "sort", "lanes", "math"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace moe::sim::rdna
