// An ELF64 little-endian shared object, split into its parts with every offset and size checked
// against the bytes. Knows nothing of kernels (code_object.hpp). The result points into the bytes.
// Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "moe/result.hpp"

namespace moe::sim::rdna {

inline constexpr uint64_t kMaxElfBytes = uint64_t{512} << 20;
inline constexpr uint32_t kMaxProgramHeaders = 64;
inline constexpr uint32_t kMaxSections = 4096;
inline constexpr uint64_t kMaxSymbols = 1 << 18;
inline constexpr uint64_t kMaxRelocations = 1 << 20;
// What the loaded segments may span, from the lowest to the highest address.
inline constexpr uint64_t kMaxImageBytes = uint64_t{1} << 30;

struct ElfSegment {
  uint64_t address = 0;
  uint64_t memory_bytes = 0;  // the part behind `bytes` is zero
  std::span<const std::byte> bytes;
  bool writable = false;
  bool executable = false;
};

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  uint64_t entry_bytes = 0;
  std::span<const std::byte> bytes;  // empty for NOBITS
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  uint8_t type = 0;
  uint16_t section = 0;
};

struct ElfRelocation {
  uint64_t offset = 0;
  uint32_t type = 0;
  uint32_t symbol = 0;
  int64_t addend = 0;
};

struct ElfFile {
  uint8_t os_abi = 0;
  uint8_t abi_version = 0;
  uint16_t machine = 0;
  uint32_t flags = 0;
  std::vector<ElfSegment> segments;               // PT_LOAD, ascending, not overlapping
  std::vector<std::span<const std::byte>> notes;  // PT_NOTE
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;          // of .dynsym
  std::vector<ElfRelocation> relocations;  // of all SHT_RELA that are loaded

  // The file's bytes of a loaded address range, or nullopt when some are not in the file.
  std::optional<std::span<const std::byte>> at(uint64_t address, uint64_t size) const;
  const ElfSegment* segment_of(uint64_t address, uint64_t size) const;
};

// `source` names the bytes in errors. Errors: corrupt, unsupported (not a 64-bit little-endian ELF
// shared object).
Result<ElfFile> read_elf(std::span<const std::byte> bytes, std::string_view source);

}  // namespace moe::sim::rdna
