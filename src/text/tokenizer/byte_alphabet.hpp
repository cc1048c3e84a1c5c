// The byte-level alphabet of GPT-2: each byte as one printable character, so that byte strings can
// be vocabulary entries. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moe::text {

// UTF-8 of the character (below U+0144) that stands for `byte`.
std::string_view character_of_byte(uint8_t byte);
// The byte that a character stands for; nullopt when it is not of the alphabet.
std::optional<uint8_t> byte_of_character(uint32_t code_point);

}  // namespace moe::text
