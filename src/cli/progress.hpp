// A progress bar on stderr: shown when stderr is a terminal and the work takes longer than half a
// second, removed at the end. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace moe::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(uint64_t done_bytes, uint64_t total_bytes);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_;
};

// "loading [#####.....] 50 %  1.0 of 2.0 GB"
std::string progress_line(const std::string& label, uint64_t done_bytes, uint64_t total_bytes);

}  // namespace moe::cli
