#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

struct Scan {
  size_t size;  // bytes of the character or of the maximal invalid part
  bool valid;
  bool incomplete;  // the text ended within a character that was valid so far
};

// Allowed range of the second byte after `lead`, by Unicode table 3-7.
bool second_byte_fits(uint8_t lead, uint8_t second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return (second & 0xC0) == 0x80;
  }
}

size_t length_from_lead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

Scan scan_at(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  const size_t length = length_from_lead(lead);
  if (length == 0) return {1, false, false};
  for (size_t i = 1; i < length; ++i) {
    if (at + i == text.size()) return {i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const bool fits = i == 1 ? second_byte_fits(lead, byte) : (byte & 0xC0) == 0x80;
    if (!fits) return {i, false, false};
  }
  return {length, true, false};
}

}  // namespace

CodePoint code_point_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return code_point_at(text, begin);
}

void append_utf8(std::string& text, uint32_t code_point) {
  const auto push = [&](uint32_t byte) {
    text.push_back(static_cast<char>(static_cast<uint8_t>(byte)));
  };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | code_point >> 6);
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3F));
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Scan scan = scan_at(text, at);
    if (!scan.valid) return at;
    at += scan.size;
  }
  return std::nullopt;
}

void Utf8Repair::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!held_.empty()) {
    joined = held_ + std::string(bytes);
    bytes = joined;
    held_.clear();
  }
  size_t at = 0;
  while (at < bytes.size()) {
    const Scan scan = scan_at(bytes, at);
    if (scan.incomplete) {
      held_ = bytes.substr(at);
      return;
    }
    out += scan.valid ? bytes.substr(at, scan.size) : kReplacementCharacter;
    at += scan.size;
  }
}

void Utf8Repair::finish(std::string& out) {
  if (!held_.empty()) out += kReplacementCharacter;
  held_.clear();
}

}  // namespace moe::text
