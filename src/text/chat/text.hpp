// Text: the string value of the interpreter. Immutable UTF-8 that remembers which of its bytes came
// from the request (untrusted) and counts code points as Python does.
// TextBuilder makes them: every operation that moves text goes through it, so provenance is kept.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace moe::text::jinja {

struct ByteRange {
  size_t begin;
  size_t end;
};

struct Text {
  std::string bytes;                 // valid UTF-8
  std::vector<ByteRange> untrusted;  // ascending, not empty, not touching each other
  size_t length = 0;                 // in code points
  bool markup = false;               // jinja's Markup: `+` escapes the other operand

  bool ascii() const { return length == bytes.size(); }
  bool is_untrusted_at(size_t byte) const;
};
using TextPtr = std::shared_ptr<const Text>;

class TextBuilder {
 public:
  explicit TextBuilder(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void append(std::string_view bytes, bool untrusted = false);
  void append(const Text& text) { append_slice(text, 0, text.bytes.size()); }
  // Bytes [begin, end) of `text`, with their provenance.
  void append_slice(const Text& text, size_t begin, size_t end);
  void append_code_point(char32_t code_point, bool untrusted);
  void append_fill(std::string_view unit, size_t count);

  size_t size() const { return bytes_.size(); }
  // True when text was refused because it would pass the limit; the content is then worthless.
  bool overflowed() const { return overflowed_; }
  size_t limit_bytes() const { return limit_bytes_; }
  Text finish() &&;

 private:
  bool room_for(size_t bytes);
  void mark(size_t begin, size_t end);

  size_t limit_bytes_;
  bool overflowed_ = false;
  std::string bytes_;
  std::vector<ByteRange> untrusted_;
};

Text make_text(std::string_view bytes, bool untrusted = false);

// Byte offset of code point `index` (<= length).
size_t byte_offset(const Text& text, size_t index);
// Code points before byte `offset`.
size_t code_points_before(const Text& text, size_t offset);
// The code point at byte `position`, which is moved past it. The bytes must be valid UTF-8.
char32_t decode_next(std::string_view bytes, size_t& position);
// The code point that ends at byte `position` (> 0), which is moved to its start.
char32_t decode_previous(std::string_view bytes, size_t& position);
void append_utf8(std::string& out, char32_t code_point);
bool is_valid_utf8(std::string_view bytes);
size_t count_code_points(std::string_view bytes);

}  // namespace moe::text::jinja
