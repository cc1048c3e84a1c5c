#include "base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace moe {
namespace {

TEST(ThreadPool, EachTaskRunsExactlyOnceAtAnyThreadCount) {
  for (int threads : {1, 2, 4, 7}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 3, 100, 5000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      pool.parallel_for(count, [&](int64_t task) { runs[static_cast<size_t>(task)].fetch_add(1); });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortLoopsSeeEachOthersWrites) {
  ThreadPool pool(4);
  std::vector<int64_t> cells(64, 0);
  for (int round = 0; round < 2000; ++round) {
    pool.parallel_for(64, [&](int64_t task) { cells[static_cast<size_t>(task)] += task; });
  }
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(cells[static_cast<size_t>(i)], 2000 * i);
}

TEST(ThreadPool, ThreadCountIsClampedToItsLimits) {
  EXPECT_EQ(ThreadPool(0).threads(), 1);
  EXPECT_EQ(ThreadPool(-5).threads(), 1);
  EXPECT_EQ(ThreadPool(ThreadPool::kMaxThreads + 1).threads(), ThreadPool::kMaxThreads);
}

}  // namespace
}  // namespace moe
