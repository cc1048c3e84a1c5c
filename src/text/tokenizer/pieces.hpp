// A text on its way to ids: one buffer and the spans it is split into. Spans that already are
// tokens pass every later step untouched. A plain value of one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace moe::text {

inline constexpr int32_t kNoToken = -1;

struct Piece {
  uint32_t begin;  // in Pieces::text
  uint32_t end;
  int32_t token = kNoToken;
  bool at_text_start = false;  // begins with the first character of the whole input
};

struct Pieces {
  std::string text;
  std::vector<Piece> pieces;

  std::string_view view(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

}  // namespace moe::text
