// The 64 bytes `name.kd` that tell the command processor how to start a kernel, as clang writes
// them for gfx11 (LLVM AMDGPU usage, "Kernel Descriptor"). Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "moe/result.hpp"

namespace moe::sim::rdna {

inline constexpr uint64_t kKernelDescriptorBytes = 64;

enum class FloatRound : uint8_t { kNearestEven, kPlusInfinity, kMinusInfinity, kToZero };
// What happens to denormals: bit 0 keeps those of sources, bit 1 those of results.
enum class FloatDenormals : uint8_t { kFlush, kKeepSources, kKeepResults, kKeep };

struct KernelDescriptor {
  uint32_t group_segment_fixed_bytes = 0;
  uint32_t private_segment_fixed_bytes = 0;
  uint32_t kernarg_bytes = 0;
  int64_t entry_offset = 0;  // from the descriptor to the first instruction
  uint32_t resource1 = 0;    // COMPUTE_PGM_RSRC1..3 as they stand in the file
  uint32_t resource2 = 0;
  uint32_t resource3 = 0;
  uint16_t properties = 0;
  uint16_t kernarg_preload = 0;

  // COMPUTE_PGM_RSRC1
  uint32_t vgpr_count = 0;  // allocated: a multiple of 8 in wave32
  FloatRound round_32{};
  FloatRound round_16_64{};
  FloatDenormals denormals_32{};
  FloatDenormals denormals_16_64{};
  bool dx10_clamp = false;
  bool ieee_mode = false;
  bool fp16_overflow = false;
  bool workgroup_processor_mode = false;
  bool memory_ordered = false;
  bool forward_progress = false;

  // COMPUTE_PGM_RSRC2
  bool scratch = false;
  uint32_t user_sgpr_count = 0;
  bool workgroup_id_x = false;
  bool workgroup_id_y = false;
  bool workgroup_id_z = false;
  bool workgroup_info = false;
  uint32_t workitem_id_dimensions = 1;  // 1 x, 2 x and y, 3 x, y and z; all packed in v0

  // Kernel code properties: which user SGPRs are set up, in this order
  bool private_segment_buffer = false;
  bool dispatch_pointer = false;
  bool queue_pointer = false;
  bool kernarg_pointer = false;
  bool dispatch_id = false;
  bool flat_scratch_init = false;
  bool private_segment_size = false;
  bool wave32 = false;
  bool dynamic_stack = false;
};

// `bytes` has kKernelDescriptorBytes. `where` names the descriptor in errors. Errors: corrupt
// (reserved bits set), unsupported (wave64, kernel argument preload).
Result<KernelDescriptor> read_kernel_descriptor(std::span<const std::byte> bytes,
                                                std::string_view where);

}  // namespace moe::sim::rdna
