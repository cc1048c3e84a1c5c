// A fixed set of worker threads for data-parallel loops. The calling thread takes part.
//
// One loop runs at a time; `parallel_for` may be called from one thread at a time (a device owns
// its pool). Tasks are handed out in order from an atomic counter, so which thread runs a task is
// not defined: a task must not depend on it. Workers spin briefly after a loop, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace moe {

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  // `threads` counts the caller too and is clamped to [1, kMaxThreads].
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task) for each task in [0, count), in any order, and returns when all are done.
  // The body must not throw and must not call parallel_for.
  template <class Body>
  void parallel_for(int64_t count, Body&& body) {
    if (count <= 0) return;
    if (count == 1 || workers_.empty()) {
      for (int64_t task = 0; task < count; ++task) body(task);
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    run(
        count, [](void* context, int64_t task) { (*static_cast<Plain*>(context))(task); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Function = void (*)(void* context, int64_t task);
  void run(int64_t count, Function function, void* context);
  void worker_loop();
  void drain(int64_t count, Function function, void* context);

  std::vector<std::thread> workers_;
  // Written by `run` before `epoch_` is raised, read by workers after they see it.
  Function function_ = nullptr;
  void* context_ = nullptr;
  int64_t count_ = 0;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint32_t> busy_workers_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace moe
