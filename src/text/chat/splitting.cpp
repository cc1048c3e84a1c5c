#include "text/chat/splitting.hpp"

#include <algorithm>

#include "text/chat/interp.hpp"
#include "text/chat/print.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

bool is_stripped(const Text* chars, char32_t c) {
  if (chars == nullptr) return is_space(c);
  std::string encoded;
  append_utf8(encoded, c);
  return chars->bytes.find(encoded) != std::string::npos;
}

size_t skip_space_forward(const Text& text, size_t p) {
  while (p < text.bytes.size()) {
    size_t next = p;
    if (!is_space(decode_next(text.bytes, next))) break;
    p = next;
  }
  return p;
}

size_t skip_space_backward(const Text& text, size_t p) {
  while (p > 0) {
    size_t previous = p;
    if (!is_space(decode_previous(text.bytes, previous))) break;
    p = previous;
  }
  return p;
}

std::vector<ByteRange> split_at_space(const Text& text, int64_t limit) {
  std::vector<ByteRange> parts;
  size_t p = skip_space_forward(text, 0);
  while (p < text.bytes.size()) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit) {
      parts.push_back({p, text.bytes.size()});
      break;
    }
    const size_t begin = p;
    while (p < text.bytes.size()) {
      size_t next = p;
      if (is_space(decode_next(text.bytes, next))) break;
      p = next;
    }
    parts.push_back({begin, p});
    p = skip_space_forward(text, p);
  }
  return parts;
}

std::vector<ByteRange> split_at_space_from_right(const Text& text, int64_t limit) {
  std::vector<ByteRange> parts;
  size_t p = skip_space_backward(text, text.bytes.size());
  while (p > 0) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit) {
      parts.push_back({0, p});
      break;
    }
    const size_t end = p;
    while (p > 0) {
      size_t previous = p;
      if (is_space(decode_previous(text.bytes, previous))) break;
      p = previous;
    }
    parts.push_back({p, end});
    p = skip_space_backward(text, p);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::vector<ByteRange> split_lines(const Text& text, bool keep_ends) {
  std::vector<ByteRange> lines;
  size_t begin = 0;
  for (size_t p = 0; p < text.bytes.size();) {
    const size_t at = p;
    const char32_t c = decode_next(text.bytes, p);
    if (!is_line_boundary(c)) continue;
    if (c == '\r' && p < text.bytes.size() && text.bytes[p] == '\n') ++p;
    lines.push_back({begin, keep_ends ? p : at});
    begin = p;
  }
  if (begin < text.bytes.size()) lines.push_back({begin, text.bytes.size()});
  return lines;
}

std::vector<ByteRange> split_text(const Text& text, const Text* separator, int64_t limit) {
  if (separator == nullptr) return split_at_space(text, limit);
  std::vector<ByteRange> parts;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = text.bytes.find(separator->bytes, begin);
    if (at == std::string::npos) break;
    parts.push_back({begin, at});
    begin = at + separator->bytes.size();
  }
  parts.push_back({begin, text.bytes.size()});
  return parts;
}

std::vector<ByteRange> split_text_from_right(const Text& text, const Text* separator,
                                             int64_t limit) {
  if (separator == nullptr) return split_at_space_from_right(text, limit);
  std::vector<ByteRange> parts;
  size_t end = text.bytes.size();
  const size_t width = separator->bytes.size();
  while ((limit < 0 || static_cast<int64_t>(parts.size()) < limit) && end >= width) {
    const size_t at = text.bytes.rfind(separator->bytes, end - width);
    if (at == std::string::npos) break;
    parts.push_back({at + width, end});
    end = at;
  }
  parts.push_back({0, end});
  std::reverse(parts.begin(), parts.end());
  return parts;
}

ByteRange strip_text(const Text& text, const Text* chars, bool left, bool right) {
  ByteRange kept{0, text.bytes.size()};
  while (left && kept.begin < kept.end) {
    size_t next = kept.begin;
    if (!is_stripped(chars, decode_next(text.bytes, next))) break;
    kept.begin = next;
  }
  while (right && kept.end > kept.begin) {
    size_t previous = kept.end;
    if (!is_stripped(chars, decode_previous(text.bytes, previous))) break;
    kept.end = previous;
  }
  return kept;
}

Result<Value> replace_text(Interp& interp, const Text& text, const Text& from, const Text& to,
                           int64_t count) {
  TextBuilder out = interp.text_builder();
  size_t p = 0;
  int64_t done = 0;
  const auto more = [&] { return (count < 0 || done < count) && !out.overflowed(); };
  if (from.bytes.empty()) {
    // Python puts the new text in front of every character and at the end.
    while (p < text.bytes.size() && more()) {
      out.append(to);
      const size_t begin = p;
      decode_next(text.bytes, p);
      out.append_slice(text, begin, p);
      ++done;
    }
    if (p == text.bytes.size() && more()) out.append(to);
  }
  while (!from.bytes.empty() && more()) {
    const size_t at = text.bytes.find(from.bytes, p);
    if (at == std::string::npos) break;
    out.append_slice(text, p, at);
    out.append(to);
    p = at + from.bytes.size();
    ++done;
  }
  out.append_slice(text, p, text.bytes.size());
  return interp.make_text(std::move(out));
}

Result<Value> make_slice(Interp& interp, const Text& text, ByteRange range) {
  TextBuilder out = interp.text_builder();
  out.append_slice(text, range.begin, range.end);
  Value slice = TRY(interp.make_text(std::move(out)));
  return text.markup ? as_markup(slice) : slice;
}

Result<Value> make_slices(Interp& interp, const Text& text, const std::vector<ByteRange>& ranges) {
  std::vector<Value> parts;
  parts.reserve(ranges.size());
  for (const ByteRange& range : ranges) parts.push_back(TRY(make_slice(interp, text, range)));
  return interp.make_list(std::move(parts));
}

}  // namespace moe::text::jinja
