#include "text/chat/text.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace moe::text::jinja {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Length of the sequence that `lead` begins; 0 when it begins none.
size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

}  // namespace

bool Text::is_untrusted_at(size_t byte) const {
  auto after = std::upper_bound(untrusted.begin(), untrusted.end(), byte,
                                [](size_t value, const ByteRange& run) { return value < run.end; });
  return after != untrusted.end() && after->begin <= byte;
}

bool TextBuilder::room_for(size_t bytes) {
  if (overflowed_ || bytes > limit_bytes_ - bytes_.size()) {
    overflowed_ = true;
    return false;
  }
  return true;
}

void TextBuilder::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!untrusted_.empty() && untrusted_.back().end == begin) {
    untrusted_.back().end = end;
  } else {
    untrusted_.push_back({begin, end});
  }
}

void TextBuilder::append(std::string_view bytes, bool untrusted) {
  if (!room_for(bytes.size())) return;
  const size_t begin = bytes_.size();
  bytes_.append(bytes);
  if (untrusted) mark(begin, bytes_.size());
}

void TextBuilder::append_slice(const Text& text, size_t begin, size_t end) {
  CHECK_LE(begin, end);
  CHECK_LE(end, text.bytes.size());
  if (!room_for(end - begin)) return;
  const size_t base = bytes_.size();
  bytes_.append(text.bytes, begin, end - begin);
  auto run = std::upper_bound(text.untrusted.begin(), text.untrusted.end(), begin,
                              [](size_t value, const ByteRange& r) { return value < r.end; });
  for (; run != text.untrusted.end() && run->begin < end; ++run) {
    mark(base + std::max(run->begin, begin) - begin, base + std::min(run->end, end) - begin);
  }
}

void TextBuilder::append_code_point(char32_t code_point, bool untrusted) {
  std::string encoded;
  append_utf8(encoded, code_point);
  append(encoded, untrusted);
}

void TextBuilder::append_fill(std::string_view unit, size_t count) {
  if (unit.empty()) return;
  if (overflowed_ || count > (limit_bytes_ - bytes_.size()) / unit.size()) {
    overflowed_ = true;
    return;
  }
  for (size_t i = 0; i < count; ++i) bytes_.append(unit);
}

Text TextBuilder::finish() && {
  Text text;
  text.bytes = std::move(bytes_);
  text.untrusted = std::move(untrusted_);
  text.length = count_code_points(text.bytes);
  return text;
}

Text make_text(std::string_view bytes, bool untrusted) {
  Text text;
  text.bytes = std::string(bytes);
  text.length = count_code_points(bytes);
  if (untrusted && !bytes.empty()) text.untrusted.push_back({0, bytes.size()});
  return text;
}

size_t count_code_points(std::string_view bytes) {
  size_t continuations = 0;
  for (char byte : bytes) continuations += is_continuation(byte) ? 1 : 0;
  return bytes.size() - continuations;
}

size_t byte_offset(const Text& text, size_t index) {
  CHECK_LE(index, text.length);
  if (text.ascii()) return index;
  if (index == text.length) return text.bytes.size();
  size_t position = 0;
  for (size_t i = 0; i < index; ++i) {
    position += sequence_length(static_cast<unsigned char>(text.bytes[position]));
  }
  return position;
}

size_t code_points_before(const Text& text, size_t offset) {
  if (text.ascii()) return offset;
  return count_code_points(std::string_view(text.bytes).substr(0, offset));
}

char32_t decode_next(std::string_view bytes, size_t& position) {
  CHECK_LT(position, bytes.size());
  const auto lead = static_cast<unsigned char>(bytes[position]);
  const size_t length = sequence_length(lead);
  CHECK(length > 0 && position + length <= bytes.size());
  if (length == 1) {
    ++position;
    return lead;
  }
  char32_t code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(bytes[position + i]) & 0x3Fu);
  }
  position += length;
  return code_point;
}

char32_t decode_previous(std::string_view bytes, size_t& position) {
  CHECK(position > 0);
  --position;
  while (position > 0 && is_continuation(bytes[position])) --position;
  size_t start = position;
  return decode_next(bytes, start);
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

bool is_valid_utf8(std::string_view bytes) {
  size_t position = 0;
  while (position < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[position]);
    const size_t length = sequence_length(lead);
    if (length == 0 || length > bytes.size() - position) return false;
    for (size_t i = 1; i < length; ++i) {
      if (!is_continuation(bytes[position + i])) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(bytes[position + 1]) : 0;
    if (lead == 0xE0 && second < 0xA0) return false;  // overlong
    if (lead == 0xED && second > 0x9F) return false;  // surrogates
    if (lead == 0xF0 && second < 0x90) return false;  // overlong
    if (lead == 0xF4 && second > 0x8F) return false;  // past U+10FFFF
    position += length;
  }
  return true;
}

}  // namespace moe::text::jinja
