// The normalizers of tokenizer.json: text to text before the split into words.
// Immutable after construction, may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"

namespace moe::text {

// Bounds what Replace and Prepend can blow a text up to.
inline constexpr size_t kMaxNormalizedBytes = size_t{512} << 20;

// Facts about where a byte came from; kept only when someone downstream asks.
inline constexpr uint8_t kTagTextStart = 1;  // from the first character of the whole input
inline constexpr uint8_t kTagPlain = 2;      // from a segment whose special tokens are plain text

struct TaggedText {
  std::string text;
  std::vector<uint8_t> tags;  // one a byte, or empty when nobody asks
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual Status apply(TaggedText& text) const = 0;
};

// Errors: corrupt, unsupported (with the type's name and path).
Result<std::unique_ptr<const Normalizer>> parse_normalizer(const JsonView& view);

}  // namespace moe::text
