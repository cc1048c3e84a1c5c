// UTF-8: checking, decoding of valid text, and repair of invalid byte streams.
// Repair follows the usual rule: each maximal invalid part becomes one U+FFFD.
// Values without shared state; a Utf8Repair belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace moe::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct CodePoint {
  uint32_t value;
  uint32_t size;  // bytes
};

// The code point at `at` of valid UTF-8.
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]));
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

// The code point that ends before `end` (> 0) of valid UTF-8.
CodePoint code_point_before(std::string_view text, size_t end);

void append_utf8(std::string& text, uint32_t code_point);

// Byte offset of the first byte that is not part of valid UTF-8; nullopt when all is valid.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Turns a stream of bytes into valid UTF-8; what may still become a character is held back.
class Utf8Repair {
 public:
  void push(std::string_view bytes, std::string& out);
  void finish(std::string& out);

 private:
  std::string held_;  // an incomplete but valid prefix of one character
};

}  // namespace moe::text
