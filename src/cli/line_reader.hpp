// Lines from stdin that Ctrl-C can interrupt. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "cli/interrupt.hpp"

namespace moe::cli {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{16} << 20;

  explicit LineReader(const Interrupt& interrupt) : interrupt_(interrupt) {}

  // The next line without its line break; none at the end of input, after Ctrl-C, and for a line
  // above kMaxLineBytes (see too_long()).
  std::optional<std::string> next();
  bool too_long() const { return held_.size() > kMaxLineBytes; }

 private:
  // False at the end of input or after Ctrl-C.
  bool read_more();

  const Interrupt& interrupt_;
  std::string held_;
  bool at_end_ = false;
};

}  // namespace moe::cli
