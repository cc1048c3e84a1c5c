// Added tokens: texts that are cut out of the input before the model sees it. Tokens that are not
// `normalized` are looked for in the raw text, the others after normalization.
// Immutable after construction, may be shared by threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/result.hpp"

namespace moe::text {

inline constexpr size_t kMaxAddedTokenBytes = 4096;

// How a found token may be cut out.
struct TokenRule {
  int32_t id = 0;
  bool special = false;
  bool lstrip = false;
  bool rstrip = false;
  bool single_word = false;
};

struct TokenCut {
  size_t begin;
  size_t end;
  int32_t token;  // kNoToken for the text between tokens
};

// A part of the text whose special tokens are plain text.
struct PlainRange {
  size_t begin;
  size_t end;
};

class TokenMatcher {
 public:
  // False when `text` is there already. `text` is not empty.
  bool add(std::string_view text, const TokenRule& rule);
  bool empty() const { return rules_.empty(); }

  // Cuts `text` at its tokens, leftmost first and the longest at each place; the cuts cover the
  // text. `plain`: sorted, disjoint; a special token that touches one of them stays text.
  void cut(std::string_view text, std::span<const PlainRange> plain,
           std::vector<TokenCut>& cuts) const;

 private:
  struct Found {
    size_t end;
    const TokenRule* rule;
  };
  struct Node {
    int32_t rule = -1;
    std::vector<std::pair<uint8_t, int32_t>> children;  // sorted by byte
  };

  int32_t child_of(int32_t node, uint8_t byte) const;
  // All tokens that begin at `at`, shortest first.
  void find_at(std::string_view text, size_t at, std::vector<Found>& found) const;

  std::vector<Node> nodes_{Node{}};
  std::vector<TokenRule> rules_;
  bool starts_[256] = {};
};

}  // namespace moe::text
