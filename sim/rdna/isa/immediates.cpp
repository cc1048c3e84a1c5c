// See immediates.hpp.
#include "rdna/isa/immediates.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <iterator>

namespace moe::sim::rdna {
namespace {

constexpr WaitCounts kAllWaitCounts = {63, 7, 63};
constexpr uint32_t kMaxInlineInt = 64;

std::string waitcnt_text(uint32_t value) {
  const WaitCounts counts = wait_counts(value);
  // A counter at its maximum is not waited for and not named, unless all of them are.
  const bool all = counts.vector_memory == kAllWaitCounts.vector_memory &&
                   counts.exports == kAllWaitCounts.exports &&
                   counts.lds_and_scalar == kAllWaitCounts.lds_and_scalar;
  std::string text;
  const auto add = [&](const char* name, uint32_t count, uint32_t none) {
    if (!all && count == none) return;
    text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, count);
  };
  add("vmcnt", counts.vector_memory, kAllWaitCounts.vector_memory);
  add("expcnt", counts.exports, kAllWaitCounts.exports);
  add("lgkmcnt", counts.lds_and_scalar, kAllWaitCounts.lds_and_scalar);
  return text;
}

struct DepctrField {
  const char* name;
  int shift;
  uint32_t mask;
};
constexpr std::array<DepctrField, 7> kDepctrFields = {{{"depctr_hold_cnt", 7, 1},
                                                       {"depctr_sa_sdst", 0, 1},
                                                       {"depctr_va_vdst", 12, 15},
                                                       {"depctr_va_sdst", 9, 7},
                                                       {"depctr_va_ssrc", 8, 1},
                                                       {"depctr_va_vcc", 1, 1},
                                                       {"depctr_vm_vsrc", 2, 7}}};
constexpr uint32_t kDepctrUnusedBits = 0x60;

std::string depctr_text(uint32_t value) {
  bool all_default = true;
  for (const DepctrField& field : kDepctrFields) {
    all_default = all_default && (value >> field.shift & field.mask) == field.mask;
  }
  if ((value & kDepctrUnusedBits) != 0) return fmt::format("0x{:x}", value);
  std::string text;
  for (const DepctrField& field : kDepctrFields) {
    const uint32_t count = value >> field.shift & field.mask;
    if (!all_default && count == field.mask) continue;
    text += fmt::format("{}{}({})", text.empty() ? "" : " ", field.name, count);
  }
  return text;
}

const char* delay_name(uint32_t id) {
  constexpr const char* kNames[] = {"",
                                    "VALU_DEP_1",
                                    "VALU_DEP_2",
                                    "VALU_DEP_3",
                                    "VALU_DEP_4",
                                    "TRANS32_DEP_1",
                                    "TRANS32_DEP_2",
                                    "TRANS32_DEP_3",
                                    "FMA_ACCUM_CYCLE_1",
                                    "SALU_CYCLE_1",
                                    "SALU_CYCLE_2",
                                    "SALU_CYCLE_3"};
  return id < std::size(kNames) ? kNames[id] : "/* invalid instid value */";
}

std::string delay_text(uint32_t value) {
  constexpr const char* kSkips[] = {"", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  std::string text;
  const auto add = [&](const char* part, const char* name) {
    text += fmt::format("{}{}({})", text.empty() ? "" : " | ", part, name);
  };
  if (const uint32_t id = value & 15) add("instid0", delay_name(id));
  if (const uint32_t skip = value >> 4 & 7) {
    add("instskip", skip < std::size(kSkips) ? kSkips[skip] : "/* invalid instskip value */");
  }
  if (const uint32_t id = value >> 7 & 15) add("instid1", delay_name(id));
  return text.empty() ? "0" : text;
}

struct NumberName {
  uint32_t number;
  const char* name;
};

const char* message_name(uint32_t id) {
  constexpr NumberName kNames[] = {
      {1, "MSG_INTERRUPT"},          {2, "MSG_HS_TESSFACTOR"},   {3, "MSG_DEALLOC_VGPRS"},
      {5, "MSG_STALL_WAVE_GEN"},     {6, "MSG_HALT_WAVES"},      {9, "MSG_GS_ALLOC_REQ"},
      {128, "MSG_RTN_GET_DOORBELL"}, {129, "MSG_RTN_GET_DDID"},  {130, "MSG_RTN_GET_TMA"},
      {131, "MSG_RTN_GET_REALTIME"}, {132, "MSG_RTN_SAVE_WAVE"}, {133, "MSG_RTN_GET_TBA"},
      {134, "MSG_RTN_GET_TBA_TO_PC"}};
  for (const NumberName& entry : kNames) {
    if (entry.number == id) return entry.name;
  }
  return nullptr;
}

std::string message_text(uint32_t value) {
  const uint32_t id = value & 0xff;
  if (const char* name = message_name(id)) return fmt::format("sendmsg({})", name);
  if (value != id) return fmt::format("{}", value);
  return fmt::format("sendmsg({}, {}, {})", id, 0, 0);
}

std::string register_text(uint32_t value) {
  constexpr NumberName kNames[] = {{1, "HW_REG_MODE"},
                                   {2, "HW_REG_STATUS"},
                                   {3, "HW_REG_TRAPSTS"},
                                   {5, "HW_REG_GPR_ALLOC"},
                                   {6, "HW_REG_LDS_ALLOC"},
                                   {7, "HW_REG_IB_STS"},
                                   {15, "HW_REG_SH_MEM_BASES"},
                                   {18, "HW_REG_PERF_SNAPSHOT_PC_LO"},
                                   {19, "HW_REG_PERF_SNAPSHOT_PC_HI"},
                                   {20, "HW_REG_FLAT_SCR_LO"},
                                   {21, "HW_REG_FLAT_SCR_HI"},
                                   {23, "HW_REG_HW_ID1"},
                                   {24, "HW_REG_HW_ID2"},
                                   {27, "HW_REG_PERF_SNAPSHOT_DATA"},
                                   {29, "HW_REG_SHADER_CYCLES"}};
  const uint32_t id = value & 63;
  const uint32_t offset = value >> 6 & 31;
  const uint32_t size = (value >> 11 & 31) + 1;
  std::string name = fmt::format("{}", id);
  for (const NumberName& entry : kNames) {
    if (entry.number == id) name = entry.name;
  }
  if (offset == 0 && size == 32) return fmt::format("hwreg({})", name);
  return fmt::format("hwreg({}, {}, {})", name, offset, size);
}

// The five bits of the lane number: kept, inverted, set or cleared.
std::string bitmask_text(uint32_t keep, uint32_t set, uint32_t flip) {
  std::string text;
  for (int bit = 4; bit >= 0; --bit) {
    const bool kept = (keep >> bit & 1) != 0;
    const bool one = (set >> bit & 1) != 0;
    const bool flipped = (flip >> bit & 1) != 0;
    if (kept && !one) {
      text += flipped ? 'i' : 'p';
    } else {
      text += one != flipped ? '1' : '0';
    }
  }
  return text;
}

}  // namespace

std::string swizzle_text(uint32_t offset) {
  constexpr uint32_t kLaneMask = 31;
  if ((offset & 0xff00) == 0x8000) {
    return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3,
                       offset >> 4 & 3, offset >> 6 & 3);
  }
  if ((offset & 0x8000) != 0) return fmt::format("{}", offset);
  const uint32_t keep = offset & kLaneMask;
  const uint32_t set = offset >> 5 & kLaneMask;
  const uint32_t flip = offset >> 10 & kLaneMask;
  if (keep == kLaneMask && set == 0 && std::has_single_bit(flip)) {
    return fmt::format("swizzle(SWAP,{})", flip);
  }
  if (keep == kLaneMask && set == 0 && flip > 0 && std::has_single_bit(flip + 1)) {
    return fmt::format("swizzle(REVERSE,{})", flip + 1);
  }
  const uint32_t group = kLaneMask - keep + 1;
  if (group > 1 && std::has_single_bit(group) && set < group && flip == 0) {
    return fmt::format("swizzle(BROADCAST,{},{})", group, set);
  }
  return fmt::format("swizzle(BITMASK_PERM,\"{}\")", bitmask_text(keep, set, flip));
}

WaitCounts wait_counts(uint32_t immediate) {
  return {immediate >> 10 & 63, immediate & 7, immediate >> 4 & 63};
}

std::string immediate_text(char type, uint32_t value) {
  switch (type) {
    case 'h':
      return fmt::format("0x{:x}", value);
    case 'b':
      return fmt::format("{}", value);
    case 'e':
      return value == 0 ? std::string() : fmt::format("{}", value);
    case 'w':
      return waitcnt_text(value);
    case 'p':
      return depctr_text(value);
    case 'y':
      return delay_text(value);
    case 'g':
      return message_text(value);
    case 'r':
      return register_text(value);
    default:
      return value <= kMaxInlineInt ? fmt::format("{}", value) : fmt::format("0x{:x}", value);
  }
}

}  // namespace moe::sim::rdna
