#include "engine/stop_matcher.hpp"

#include <algorithm>

namespace moe::engine {

std::string StopMatcher::push(std::string_view piece) {
  if (matched()) return {};
  held_ += piece;
  size_t begin = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t found = held_.find(stop);
    if (found < begin) {
      begin = found;
      matched_ = &stop;
    }
  }
  if (matched()) {
    std::string text = held_.substr(0, begin + (include_ ? matched_->size() : 0));
    held_.clear();
    return text;
  }
  const size_t safe = held_.size() - open_suffix_length();
  std::string text = held_.substr(0, safe);
  held_.erase(0, safe);
  return text;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

// Length of the longest end of the held text that begins some stop string.
size_t StopMatcher::open_suffix_length() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > longest; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) longest = length;
    }
  }
  return longest;
}

}  // namespace moe::engine
