// Template text to tokens, with jinja2's whitespace rules (trim_blocks, lstrip_blocks, -, +, raw).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

enum class TokenKind {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kNumber,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;  // data, name, string content, operator
  Value number;
};

// Ends with a kEnd token. Errors: corrupt, with name and line.
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name);

}  // namespace moe::text::jinja
