// Finds stop strings in text that arrives in pieces and holds back what could still become one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace moe::engine {

class StopMatcher {
 public:
  // `include` keeps the matched stop string in the text.
  StopMatcher(std::vector<std::string> stops, bool include)
      : stops_(std::move(stops)), include_(include) {}

  // Takes the next piece and returns the text that is safe to show. After a match (the earliest
  // one; of several that begin together the first listed) nothing more comes out.
  std::string push(std::string_view piece);
  // The text still held back; call when the answer ends without a match.
  std::string finish();

  bool matched() const { return matched_ != nullptr; }
  // Requires matched().
  const std::string& match() const { return *matched_; }

 private:
  size_t open_suffix_length() const;

  std::vector<std::string> stops_;
  bool include_;
  std::string held_;
  const std::string* matched_ = nullptr;
};

}  // namespace moe::engine
