// What the NT_AMDGPU_METADATA note says about kernels. Checks types and sizes, not the agreement
// with descriptors (code_object.cpp does). Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"

namespace moe::sim::rdna {

inline constexpr size_t kMaxKernels = 4096;
inline constexpr size_t kMaxKernelArguments = 1024;
inline constexpr uint64_t kMaxKernargBytes = 1 << 16;
inline constexpr uint64_t kMaxWorkgroupSize = 1024;

struct KernelArgument {
  std::string name;  // empty unless the compiler was asked for names
  uint32_t offset = 0;
  uint32_t size = 0;
  std::string value_kind;  // by_value, global_buffer, hidden_...

  bool hidden() const { return value_kind.rfind("hidden_", 0) == 0; }
};

struct KernelMetadata {
  std::string name;
  std::string symbol;                     // of the descriptor
  std::vector<KernelArgument> arguments;  // ascending by offset, not overlapping
  uint32_t kernarg_segment_bytes = 0;
  uint32_t kernarg_segment_alignment = 0;
  uint32_t group_segment_fixed_bytes = 0;
  uint32_t private_segment_fixed_bytes = 0;
  uint32_t vgpr_count = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_spill_count = 0;
  uint32_t sgpr_spill_count = 0;
  uint32_t max_flat_workgroup_size = 0;
  uint32_t wavefront_size = 0;
  bool uses_dynamic_stack = false;
};

struct CodeObjectMetadata {
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  std::string target;  // "amdgcn-amd-amdhsa--gfx1100"
  std::vector<KernelMetadata> kernels;
};

// `note` is the note's msgpack. Errors: corrupt, with kernel and key.
Result<CodeObjectMetadata> read_metadata(std::span<const std::byte> note, std::string_view source);

}  // namespace moe::sim::rdna
