#include "text/tokenizer/byte_alphabet.hpp"

#include <array>
#include <string>

#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

constexpr uint32_t kFirstStandIn = 0x100;  // for bytes that are not printable Latin-1
constexpr uint32_t kLastStandIn = 0x143;

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<uint8_t, kLastStandIn - kFirstStandIn + 1> bytes{};

  Alphabet() {
    uint32_t stand_in = kFirstStandIn;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte)) {
        append_utf8(characters[byte], byte);
      } else {
        bytes[stand_in - kFirstStandIn] = static_cast<uint8_t>(byte);
        append_utf8(characters[byte], stand_in++);
      }
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string_view character_of_byte(uint8_t byte) { return alphabet().characters[byte]; }

std::optional<uint8_t> byte_of_character(uint32_t code_point) {
  if (code_point < 256) {
    if (!stands_for_itself(code_point)) return std::nullopt;
    return static_cast<uint8_t>(code_point);
  }
  if (code_point > kLastStandIn) return std::nullopt;
  return alphabet().bytes[code_point - kFirstStandIn];
}

}  // namespace moe::text
