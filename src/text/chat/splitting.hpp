// Splitting, stripping and replacing of text, on byte ranges.
#pragma once

#include <vector>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

// Lines as Python's splitlines gives them, with or without their ends.
std::vector<ByteRange> split_lines(const Text& text, bool keep_ends);
// Python's str.split(separator, limit); a null separator splits at whitespace. limit < 0: none.
std::vector<ByteRange> split_text(const Text& text, const Text* separator, int64_t limit);
std::vector<ByteRange> split_text_from_right(const Text& text, const Text* separator,
                                             int64_t limit);
// Without whitespace, or without the characters of `chars`, at either side.
ByteRange strip_text(const Text& text, const Text* chars, bool left, bool right);
// Python's str.replace; count < 0: all.
Result<Value> replace_text(Interp& interp, const Text& text, const Text& from, const Text& to,
                           int64_t count);
Result<Value> make_slice(Interp& interp, const Text& text, ByteRange range);
Result<Value> make_slices(Interp& interp, const Text& text, const std::vector<ByteRange>& ranges);

}  // namespace moe::text::jinja
