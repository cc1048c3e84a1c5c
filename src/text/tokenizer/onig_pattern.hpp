// Translates a regular expression in Oniguruma syntax (what tokenizer.json holds) to PCRE2 syntax
// with the same meaning under PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE. A construct whose meaning
// would differ, or that is not known here, is refused: never a pattern that matches other text.
// Pure function, any thread.
#pragma once

#include <string>
#include <string_view>

#include "moe/result.hpp"

namespace moe::text {

inline constexpr size_t kMaxPatternBytes = size_t{64} << 10;
inline constexpr int kMaxPatternDepth = 64;

// Errors: unsupported, naming the construct and its byte offset. The caller adds the place.
Result<std::string> pcre2_from_oniguruma(std::string_view pattern);

// A PCRE2 pattern that matches `text` literally.
std::string pcre2_literal(std::string_view text);

}  // namespace moe::text
