// The processor as a device: host memory, a thread pool, facts.
//
// One thread drives it at a time (the pool runs one loop at a time); the counters may be read from
// any thread.
#pragma once

#include <atomic>
#include <memory>

#include "base/thread_pool.hpp"
#include "providers/cpu/arch/isa.hpp"
#include "tensor/device.hpp"

namespace moe::providers::cpu {

// Less work than this, in multiply-adds or bytes moved, is not worth waking a thread (a few
// microseconds).
constexpr int64_t kMinParallelWork = int64_t{1} << 16;

class CpuDevice final : public Device {
 public:
  // `threads` is at least 1; `isa` is what the kernels may use, for the facts.
  CpuDevice(int threads, Isa isa);

  const DeviceFacts& facts() const override { return facts_; }
  Result<Buffer> allocate(uint64_t bytes) override;
  Status copy_to_device(void* device_data, const void* host_data, uint64_t bytes) override;
  Status copy_to_host(void* host_data, const void* device_data, uint64_t bytes) override;
  bool reads_host_memory() const override { return true; }
  uint64_t allocated_bytes() const override { return allocated_.load(std::memory_order_relaxed); }
  uint64_t peak_allocated_bytes() const override { return peak_.load(std::memory_order_relaxed); }

  int threads() const { return pool_.threads(); }

  // Calls body(task, slot) for each task in [0, count). Tasks that run at the same time have
  // different slots, in [0, threads()). `work` is that of all tasks together.
  template <class Body>
  void for_tasks(int64_t count, int64_t work, Body&& body) {
    if (work < kMinParallelWork || count <= 1 || pool_.threads() == 1) {
      for (int64_t task = 0; task < count; ++task) body(task, int64_t{0});
      return;
    }
    const int64_t slots = count < pool_.threads() ? count : pool_.threads();
    std::atomic<int64_t> next{0};
    pool_.parallel_for(slots, [&](int64_t slot) {
      for (int64_t task = next.fetch_add(1, std::memory_order_relaxed); task < count;
           task = next.fetch_add(1, std::memory_order_relaxed)) {
        body(task, slot);
      }
    });
  }

  // Calls body(item) for each item in [0, count), neighbours in one task; `work` per item.
  template <class Body>
  void for_items(int64_t count, int64_t work, Body&& body) {
    constexpr int64_t kTasksPerThread = 4;
    const int64_t tasks = kTasksPerThread * pool_.threads();
    const int64_t items = count <= tasks ? 1 : (count + tasks - 1) / tasks;
    for_tasks((count + items - 1) / items, count * work, [&](int64_t task, int64_t) {
      const int64_t end = (task + 1) * items < count ? (task + 1) * items : count;
      for (int64_t item = task * items; item < end; ++item) body(item);
    });
  }

 protected:
  void free(void* data, uint64_t bytes) override;

 private:
  DeviceFacts facts_;
  ThreadPool pool_;
  std::atomic<uint64_t> allocated_{0};
  std::atomic<uint64_t> peak_{0};
};

}  // namespace moe::providers::cpu
