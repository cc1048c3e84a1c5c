// See kernel_descriptor.hpp.
#include "rdna/kernel_descriptor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/check.hpp"
#include "base/errors.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kFix = "the code object is damaged; build it again";
constexpr uint32_t kVgprGranule = 8;  // wave32
constexpr uint32_t kMaxVgprs = 256;
// Which bytes no field uses: 12..15, 24..43 and 60..63.
constexpr std::pair<size_t, size_t> kReserved[] = {{12, 16}, {24, 44}, {60, 64}};
// PRIORITY, PRIV, DEBUG_MODE, BULKY, CDBG_USER: the file must leave them to the runtime.
constexpr uint32_t kReservedResource1 = 3u << 10 | 1u << 20 | 1u << 22 | 1u << 24 | 1u << 25;
constexpr uint32_t kReservedProperties = 0xf380;

bool bit(uint32_t word, int index) { return (word >> index & 1) != 0; }

template <class Int>
Int load(std::span<const std::byte> bytes, size_t offset) {
  Int value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(Int));
  return value;
}

void split_resource1(KernelDescriptor& d) {
  const uint32_t word = d.resource1;
  d.vgpr_count = ((word & 63) + 1) * kVgprGranule;
  d.round_32 = static_cast<FloatRound>(word >> 12 & 3);
  d.round_16_64 = static_cast<FloatRound>(word >> 14 & 3);
  d.denormals_32 = static_cast<FloatDenormals>(word >> 16 & 3);
  d.denormals_16_64 = static_cast<FloatDenormals>(word >> 18 & 3);
  d.dx10_clamp = bit(word, 21);
  d.ieee_mode = bit(word, 23);
  d.fp16_overflow = bit(word, 26);
  d.workgroup_processor_mode = bit(word, 29);
  d.memory_ordered = bit(word, 30);
  d.forward_progress = bit(word, 31);
}

void split_resource2(KernelDescriptor& d) {
  const uint32_t word = d.resource2;
  d.scratch = bit(word, 0);
  d.user_sgpr_count = word >> 1 & 31;
  d.workgroup_id_x = bit(word, 7);
  d.workgroup_id_y = bit(word, 8);
  d.workgroup_id_z = bit(word, 9);
  d.workgroup_info = bit(word, 10);
  d.workitem_id_dimensions = (word >> 11 & 3) + 1;
}

void split_properties(KernelDescriptor& d) {
  const uint32_t word = d.properties;
  d.private_segment_buffer = bit(word, 0);
  d.dispatch_pointer = bit(word, 1);
  d.queue_pointer = bit(word, 2);
  d.kernarg_pointer = bit(word, 3);
  d.dispatch_id = bit(word, 4);
  d.flat_scratch_init = bit(word, 5);
  d.private_segment_size = bit(word, 6);
  d.wave32 = bit(word, 10);
  d.dynamic_stack = bit(word, 11);
}

uint32_t named_user_sgprs(const KernelDescriptor& d) {
  return 4u * d.private_segment_buffer + 2u * d.dispatch_pointer + 2u * d.queue_pointer +
         2u * d.kernarg_pointer + 2u * d.dispatch_id + 2u * d.flat_scratch_init +
         1u * d.private_segment_size;
}

Status check(const KernelDescriptor& d, std::string_view where) {
  const auto wrong = [&](const std::string& what) {
    return corrupt(fmt::format("{}: {}", where, what), kFix);
  };
  if (d.vgpr_count > kMaxVgprs) {
    return wrong(fmt::format("{} VGPRs, a wave has at most {}", d.vgpr_count, kMaxVgprs));
  }
  if ((d.resource1 & kReservedResource1) != 0 || (d.properties & kReservedProperties) != 0) {
    return wrong(fmt::format("reserved bits are set (rsrc1 0x{:x}, properties 0x{:x})", d.resource1,
                             d.properties));
  }
  if (d.workitem_id_dimensions > 3) return wrong("work-item ids for four dimensions, wanted 1..3");
  if (named_user_sgprs(d) > d.user_sgpr_count) {
    return wrong(fmt::format("{} user SGPRs, its properties ask for {}", d.user_sgpr_count,
                             named_user_sgprs(d)));
  }
  if (!d.wave32) {
    return unsupported(fmt::format("{}: compiled for waves of 64 lanes, wanted 32", where),
                       "compile without -mwavefrontsize64");
  }
  if (d.kernarg_preload != 0) {
    return unsupported(fmt::format("{}: preloads kernel arguments into SGPRs", where),
                       "compile without -amdgpu-kernarg-preload-count");
  }
  return {};
}

}  // namespace

Result<KernelDescriptor> read_kernel_descriptor(std::span<const std::byte> bytes,
                                                std::string_view where) {
  CHECK_EQ(bytes.size(), kKernelDescriptorBytes);
  for (const auto& [begin, end] : kReserved) {
    for (size_t i = begin; i < end; ++i) {
      if (bytes[i] == std::byte{0}) continue;
      return corrupt(fmt::format("{}: reserved byte {} is 0x{:02x}, wanted 0", where, i,
                                 static_cast<uint8_t>(bytes[i])),
                     kFix);
    }
  }
  KernelDescriptor d;
  d.group_segment_fixed_bytes = load<uint32_t>(bytes, 0);
  d.private_segment_fixed_bytes = load<uint32_t>(bytes, 4);
  d.kernarg_bytes = load<uint32_t>(bytes, 8);
  d.entry_offset = load<int64_t>(bytes, 16);
  d.resource3 = load<uint32_t>(bytes, 44);
  d.resource1 = load<uint32_t>(bytes, 48);
  d.resource2 = load<uint32_t>(bytes, 52);
  d.properties = load<uint16_t>(bytes, 56);
  d.kernarg_preload = load<uint16_t>(bytes, 58);
  split_resource1(d);
  split_resource2(d);
  split_properties(d);
  TRY(check(d, where));
  return d;
}

}  // namespace moe::sim::rdna
