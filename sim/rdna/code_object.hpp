// An AMDGPU code object (the ELF file that hipModuleLoadData takes) parsed from memory: target,
// kernels, what to load where. Foreign bytes: strict, with limits, nothing is executed or relocated
// here. The result owns copies of everything that is loaded. Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"
#include "rdna/kernel_descriptor.hpp"
#include "rdna/kernel_metadata.hpp"

namespace moe::sim::rdna {

struct Kernel {
  KernelMetadata metadata;
  KernelDescriptor descriptor;
  uint64_t descriptor_address = 0;
  uint64_t code_address = 0;  // of the first instruction
  uint64_t code_bytes = 0;    // size of the symbol: without the padding behind it
};

struct LoadedSegment {
  uint64_t address = 0;
  uint64_t memory_bytes = 0;
  std::vector<std::byte> bytes;  // the rest of memory_bytes is zero
  bool writable = false;
  bool executable = false;
};

// The 8 bytes at `address` become load base + addend (R_AMDGPU_RELATIVE64).
struct RelativeRelocation {
  uint64_t address = 0;
  int64_t addend = 0;
};

// A __device__ or __constant__ variable.
struct DeviceVariable {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct CodeObject {
  std::string target;            // "gfx1100", "gfx11-generic"
  uint32_t generic_version = 0;  // of generic targets
  uint32_t version = 0;          // code object version: 4, 5 or 6
  std::vector<Kernel> kernels;
  std::vector<DeviceVariable> variables;
  std::vector<LoadedSegment> segments;  // ascending addresses relative to the load base
  std::vector<RelativeRelocation> relocations;
  uint64_t memory_bytes = 0;  // from address 0 to the end of the last segment

  // nullptr when there is none of that name.
  const Kernel* find_kernel(std::string_view name) const;
  // The dwords of one loaded executable range; empty when it is not all code.
  std::vector<uint32_t> code_words(uint64_t address, uint64_t bytes) const;
};

// `source` names the bytes in errors ("moe.gfx1100.hsaco"). Errors: corrupt, unsupported.
Result<CodeObject> parse_code_object(std::span<const std::byte> bytes, std::string_view source);

}  // namespace moe::sim::rdna
