#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/input.hpp"

namespace moe::cli {
namespace {

constexpr std::chrono::milliseconds kShowAfter{500};
constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr size_t kBarColumns = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), enabled_(stderr_is_terminal()) {}

std::string progress_line(const std::string& label, uint64_t done_bytes, uint64_t total_bytes) {
  const double share =
      total_bytes == 0
          ? 1
          : std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const auto filled = static_cast<size_t>(share * static_cast<double>(kBarColumns));
  constexpr double kGb = 1e9;
  return fmt::format("{} [{}{}] {:3.0f} %  {:.1f} of {:.1f} GB", label, std::string(filled, '#'),
                     std::string(kBarColumns - filled, '.'), 100 * share,
                     static_cast<double>(done_bytes) / kGb, static_cast<double>(total_bytes) / kGb);
}

void ProgressBar::update(uint64_t done_bytes, uint64_t total_bytes) {
  if (!enabled_) return;
  const Clock::time_point time = Clock::now();
  if (time - begin_ < kShowAfter || time - drawn_ < kRedrawEvery) return;
  drawn_ = time;
  shown_ = true;
  fmt::print(stderr, "\r{}", progress_line(label_, done_bytes, total_bytes));
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace moe::cli
