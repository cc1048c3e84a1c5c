// Counts levels of nesting while the parser descends.
#pragma once

#include "text/chat/parser.hpp"

namespace moe::text::jinja {

struct Parser::NestingGuard {
  explicit NestingGuard(int& level) : level_(level) { ++level_; }
  ~NestingGuard() { --level_; }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;

 private:
  int& level_;
};

}  // namespace moe::text::jinja
