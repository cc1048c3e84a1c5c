// The search patterns of tokenizer.json ({"String": ...} or {"Regex": ...}): all matches of a text,
// as Oniguruma's find iterator gives them. Immutable after construction, may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"

namespace moe::text {

// Backtracking steps one match may take before it is given up with an error.
inline constexpr uint32_t kRegexMatchLimit = 50'000'000;

struct Match {
  uint32_t begin;
  uint32_t end;
};

class Pattern {
 public:
  // Errors: corrupt (not such an object), unsupported (an expression outside what we translate).
  static Result<Pattern> parse(const JsonView& view);
  static Result<Pattern> literal(std::string text);
  static Result<Pattern> regex(std::string_view oniguruma);

  // Appends all matches in `text` (valid UTF-8), from left to right, without overlap.
  // Errors: unsupported when a match exceeds kRegexMatchLimit.
  Status find_all(std::string_view text, std::vector<Match>& matches) const;

  // The text searched for when the pattern is a plain, not empty string; else empty.
  const std::string& literal_text() const { return literal_; }

 private:
  struct Code;
  Pattern() = default;

  Status compile(std::string_view pcre2_pattern);
  Status find_regex(std::string_view text, std::vector<Match>& matches) const;

  std::string literal_;
  std::string source_;  // for messages
  std::shared_ptr<const Code> code_;
};

}  // namespace moe::text
