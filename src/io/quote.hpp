// Text from files, made safe for a message: quoted, control bytes escaped, long text cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace moe::io {

inline constexpr size_t kMaxQuotedBytes = 160;

// "text" with quotes; bytes below 0x20, 0x7f, quote and backslash are escaped.
std::string quote(std::string_view text);

// "[2, 3]"
std::string shape_text(std::span<const int64_t> shape);

}  // namespace moe::io
