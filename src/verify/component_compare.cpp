#include "verify/component_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace moe::verify {
namespace {

constexpr double kRelativeBound = 1.0 / 64;  // two steps of the shortest BF16 significand
constexpr double kRmsFloor = 1.0 / 1024;     // of the RMS: for elements near zero
constexpr double kSpreadFactor = 4;
constexpr double kUnequalShare = 0.02;  // a left-out rounding changes 10 % and more
constexpr double kChangedFactor = 8;

bool skipped(const BufferRule& rule, size_t row) {
  return !rule.skip.empty() && rule.skip[row] != 0;
}

double rms_of(std::span<const Bf16> want, size_t cols, const BufferRule& rule) {
  double squares = 0;
  size_t count = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double value = double{to_f32(want[i])};
    if (skipped(rule, i / cols) || !std::isfinite(value)) continue;
    squares += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

// |got - want| / bound; 0 for equal, infinity where a NaN or infinity is not matched.
double share_of_bound(double got, double want, double floor) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (got == want) return 0;
  const double difference = std::fabs(got - want);
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  const double bound = kRelativeBound * std::fabs(want) + floor;
  return bound > 0 ? difference / bound : std::numeric_limits<double>::infinity();
}

bool same(const BufferRule& rule, Bf16 got, Bf16 want) {
  const float g = to_f32(got);
  const float w = to_f32(want);
  if (std::isnan(g) && std::isnan(w)) return true;
  if (rule.exact) return got == want;
  return g == w || std::fabs(double{g} - double{w}) <= kSpreadFactor * rule.atol;
}

}  // namespace

std::string BufferDeviation::measured() const {
  return fmt::format("{}/{} unequal, max |diff| {:.3g}", unequal, compared, worst_abs);
}

std::string BufferDeviation::allowed(bool exact) const {
  if (exact) return "bit for bit";
  return fmt::format("{:.0f} unequal, worst at {:.2f} of its bound", allowed_unequal, worst_share);
}

BufferDeviation compare_buffer(std::span<const Bf16> got, std::span<const Bf16> want, int64_t cols,
                               const BufferRule& rule) {
  CHECK_EQ(got.size(), want.size());
  BufferDeviation result;
  const auto width = static_cast<size_t>(cols);
  const double floor =
      kSpreadFactor * std::max(rule.spread.max_abs, kRmsFloor * rms_of(want, width, rule));
  for (size_t i = 0; i < want.size(); ++i) {
    if (skipped(rule, i / width)) continue;
    ++result.compared;
    if (same(rule, got[i], want[i])) continue;
    ++result.unequal;
    const double g = double{to_f32(got[i])};
    const double w = double{to_f32(want[i])};
    const double share =
        rule.exact ? std::numeric_limits<double>::infinity() : share_of_bound(g, w, floor);
    if (std::isfinite(g - w)) result.worst_abs = std::max(result.worst_abs, std::fabs(g - w));
    result.worst_share = std::max(result.worst_share, share);
    if (share > 1 && result.first_bad.empty()) {
      result.first_bad = fmt::format("row {} column {} is {} (0x{:04x}), wanted {} (0x{:04x})",
                                     i / width, i % width, g, got[i].bits, w, want[i].bits);
    }
  }
  // `changed` was counted over the whole buffer, which samples may cover in part.
  const double count = static_cast<double>(result.compared);
  const double changed = rule.spread.of > 0 ? rule.spread.changed * count / rule.spread.of : 0;
  result.allowed_unequal = rule.exact ? 0 : kUnequalShare * count + kChangedFactor * changed;
  if (!rule.exact) result.allowed_unequal = std::floor(result.allowed_unequal);
  result.ok =
      result.worst_share <= 1 && static_cast<double>(result.unequal) <= result.allowed_unequal;
  if (!result.ok && result.first_bad.empty()) result.first_bad = "too many elements are unequal";
  return result;
}

}  // namespace moe::verify
