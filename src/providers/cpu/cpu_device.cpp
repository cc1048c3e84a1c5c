#include "providers/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked_math.hpp"
#include "base/cpu_facts.hpp"
#include "base/errors.hpp"

namespace moe::providers::cpu {
namespace {

constexpr uint64_t kAlignment = 64;
// Larger buffers are aligned to huge pages, and the kernel is asked for them: fewer TLB misses.
constexpr uint64_t kHugePage = uint64_t{2} << 20;

#if defined(__x86_64__)
constexpr const char* kMachine = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kMachine = "aarch64";
#else
constexpr const char* kMachine = "generic";
#endif

uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

}  // namespace

CpuDevice::CpuDevice(int threads, Isa isa) : pool_(threads) {
  facts_.type = DeviceType::kCpu;
  facts_.name = "cpu";
  facts_.architecture = fmt::format("{} {}", kMachine, name_of(isa));
  facts_.description = cpu_facts().model_name;
  facts_.threads = pool_.threads();
  facts_.memory_bytes = physical_memory_bytes();
}

Result<Buffer> CpuDevice::allocate(uint64_t bytes) {
  const auto refuse = [&] {
    return out_of_memory(
        fmt::format("device cpu: cannot allocate {} bytes; {} are allocated of {} bytes of memory",
                    bytes, allocated_bytes(), facts_.memory_bytes),
        "use a smaller context, batch or cache size, or a machine with more memory");
  };
  // The kernel promises memory that it does not have, so ask for no more than there is.
  if (facts_.memory_bytes != 0 && bytes > facts_.memory_bytes) return refuse();
  const uint64_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const uint64_t rounded = round_up(std::max(bytes, uint64_t{1}), alignment);
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) return refuse();
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);
  const uint64_t total = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (total > peak_.load(std::memory_order_relaxed)) {
    peak_.store(total, std::memory_order_relaxed);
  }
  return Buffer(this, data, bytes);
}

void CpuDevice::free(void* data, uint64_t bytes) {
  std::free(data);
  allocated_.fetch_sub(bytes, std::memory_order_relaxed);
}

Status CpuDevice::copy_to_device(void* device_data, const void* host_data, uint64_t bytes) {
  if (bytes > 0) std::memcpy(device_data, host_data, bytes);
  return {};
}

Status CpuDevice::copy_to_host(void* host_data, const void* device_data, uint64_t bytes) {
  if (bytes > 0) std::memcpy(host_data, device_data, bytes);
  return {};
}

}  // namespace moe::providers::cpu
