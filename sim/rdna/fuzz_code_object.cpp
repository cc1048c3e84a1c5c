// Bytes as a code object and as code. What the parser accepts must lie inside the loaded segments;
// what the decoder accepts must be printable and advance.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "rdna/code_object.hpp"
#include "rdna/isa/decoder.hpp"
#include "rdna/isa/printer.hpp"

namespace {

using namespace moe::sim::rdna;

constexpr size_t kMaxDecodedWords = 4096;

void decode_words(std::span<const uint32_t> words) {
  words = words.first(std::min(words.size(), kMaxDecodedWords));
  for (size_t i = 0; i < words.size();) {
    const auto instruction = decode(words.subspan(i), i * sizeof(uint32_t), Isa::kGfx115);
    if (!instruction.ok()) {
      ++i;
      continue;
    }
    CHECK(instruction->dword_count >= 1);
    CHECK_LE(i + instruction->dword_count, words.size());
    CHECK(!to_text(*instruction).empty());
    i += instruction->dword_count;
  }
}

void check_object(const CodeObject& object) {
  for (const Kernel& kernel : object.kernels) {
    const auto words = object.code_words(kernel.code_address, kernel.code_bytes);
    CHECK_EQ(words.size() * sizeof(uint32_t), kernel.code_bytes);
    decode_words(words);
    uint64_t end = 0;
    for (const KernelArgument& argument : kernel.metadata.arguments) {
      CHECK_LE(end, argument.offset);
      end = uint64_t{argument.offset} + argument.size;
    }
    CHECK_LE(end, kernel.descriptor.kernarg_bytes);
  }
  for (const RelativeRelocation& relocation : object.relocations) {
    CHECK_LE(relocation.address + sizeof(uint64_t), object.memory_bytes);
  }
  for (const LoadedSegment& segment : object.segments) {
    CHECK_LE(segment.bytes.size(), segment.memory_bytes);
    CHECK_LE(segment.address + segment.memory_bytes, object.memory_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto object = parse_code_object({reinterpret_cast<const std::byte*>(data), size}, "input");
  if (object.ok()) check_object(*object);
  std::vector<uint32_t> words(size / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * sizeof(uint32_t));
  decode_words(words);
  return 0;
}
