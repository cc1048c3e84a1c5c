// Counts levels of evaluation.
#pragma once

#include "text/chat/interp.hpp"

namespace moe::text::jinja {

struct Interp::DepthGuard {
  explicit DepthGuard(int& level) : level_(level) { ++level_; }
  ~DepthGuard() { --level_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& level_;
};

}  // namespace moe::text::jinja
