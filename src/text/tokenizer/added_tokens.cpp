#include "text/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "text/tokenizer/pieces.hpp"
#include "text/tokenizer/unicode.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

bool is_whole_word(std::string_view text, size_t begin, size_t end) {
  const bool word_before = begin > 0 && is_word(code_point_before(text, begin).value);
  const bool word_after = end < text.size() && is_word(code_point_at(text, end).value);
  return !word_before && !word_after;
}

size_t space_begin(std::string_view text, size_t end, size_t least) {
  while (end > least) {
    const CodePoint point = code_point_before(text, end);
    if (!is_white_space(point.value)) break;
    end -= point.size;
  }
  return end;
}

size_t space_end(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const CodePoint point = code_point_at(text, begin);
    if (!is_white_space(point.value)) break;
    begin += point.size;
  }
  return begin;
}

// Walks the plain ranges in step with a scan from left to right.
class PlainCursor {
 public:
  explicit PlainCursor(std::span<const PlainRange> ranges) : ranges_(ranges) {}

  // Moves to the first range that ends after `at`; `at` never decreases.
  void advance(size_t at) {
    while (!ranges_.empty() && ranges_.front().end <= at) ranges_ = ranges_.subspan(1);
  }
  bool touches(size_t end) const { return !ranges_.empty() && ranges_.front().begin < end; }
  // Where to look on after a refused token at [begin, end): past it, but never past the plain
  // text, so that plain text cannot hide a token that follows it.
  size_t resume(size_t begin, size_t end) const {
    if (ranges_.front().begin > begin) return begin + 1;
    return std::min(end, ranges_.front().end);
  }

 private:
  std::span<const PlainRange> ranges_;
};

}  // namespace

int32_t TokenMatcher::child_of(int32_t node, uint8_t byte) const {
  const auto& children = nodes_[static_cast<size_t>(node)].children;
  const auto place = std::lower_bound(children.begin(), children.end(), byte,
                                      [](const auto& child, uint8_t b) { return child.first < b; });
  return place != children.end() && place->first == byte ? place->second : -1;
}

bool TokenMatcher::add(std::string_view text, const TokenRule& rule) {
  int32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t child = child_of(node, byte);
    if (child < 0) {
      child = static_cast<int32_t>(nodes_.size());
      nodes_.emplace_back();
      auto& children = nodes_[static_cast<size_t>(node)].children;
      const auto place =
          std::lower_bound(children.begin(), children.end(), std::pair<uint8_t, int32_t>(byte, 0));
      children.insert(place, {byte, child});
    }
    node = child;
  }
  if (nodes_[static_cast<size_t>(node)].rule >= 0) return false;
  nodes_[static_cast<size_t>(node)].rule = static_cast<int32_t>(rules_.size());
  rules_.push_back(rule);
  starts_[static_cast<uint8_t>(text.front())] = true;
  return true;
}

void TokenMatcher::find_at(std::string_view text, size_t at, std::vector<Found>& found) const {
  found.clear();
  int32_t node = 0;
  for (size_t end = at; end < text.size();) {
    node = child_of(node, static_cast<uint8_t>(text[end]));
    if (node < 0) return;
    ++end;
    const int32_t rule = nodes_[static_cast<size_t>(node)].rule;
    if (rule >= 0) found.push_back({end, &rules_[static_cast<size_t>(rule)]});
  }
}

void TokenMatcher::cut(std::string_view text, std::span<const PlainRange> plain,
                       std::vector<TokenCut>& cuts) const {
  size_t done = 0;      // all text before it is in cuts
  size_t stripped = 0;  // end of the last space taken by a token's rstrip
  PlainCursor cursor(plain);
  std::vector<Found> found;
  for (size_t at = 0; at < text.size() && !empty();) {
    if (!starts_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    find_at(text, at, found);
    if (found.empty()) {
      ++at;
      continue;
    }
    cursor.advance(at);
    const size_t longest = found.back().end;
    if (found.back().rule->special && cursor.touches(longest)) {
      // Plain text after a token must not turn it into a longer one.
      while (!found.empty() && cursor.touches(found.back().end)) found.pop_back();
      if (found.empty()) {
        at = cursor.resume(at, longest);
        continue;
      }
    }
    const TokenRule& rule = *found.back().rule;
    size_t begin = at;
    size_t end = found.back().end;
    at = end;
    if (rule.single_word && !is_whole_word(text, begin, end)) continue;
    if (rule.lstrip) begin = std::max(space_begin(text, begin, done), done);
    // Text up to `stripped` is known to be space, so that no run is walked twice.
    if (rule.rstrip) stripped = end = end < stripped ? stripped : space_end(text, end);
    if (begin >= end) continue;  // all of it is space that the token before it took
    if (done < begin) cuts.push_back({done, begin, kNoToken});
    cuts.push_back({begin, end, rule.id});
    done = end;
  }
  if (done != text.size()) cuts.push_back({done, text.size(), kNoToken});
}

}  // namespace moe::text
