#include "io/quote.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace moe::io {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text.substr(0, kMaxQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  if (text.size() > kMaxQuotedBytes) out += fmt::format("... ({} bytes)", text.size());
  return out + '"';
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace moe::io
