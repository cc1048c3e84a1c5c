// The check that a caller brought as much scratch memory as an operation asked for.
#pragma once

#include <fmt/format.h>

#include "base/errors.hpp"
#include "ops/variant.hpp"

namespace moe::providers::cpu {

// Errors: invalid_argument when the workspace is absent or smaller than `wanted`.
inline Status check_workspace(ops::Workspace workspace, uint64_t wanted) {
  if (workspace.bytes >= wanted && (wanted == 0 || workspace.data != nullptr)) return {};
  return invalid_argument(
      fmt::format("device cpu: the workspace has {} bytes{}, wanted {}", workspace.bytes,
                  workspace.data == nullptr ? " at no address" : "", wanted),
      "allocate what the variant's workspace_bytes says for this description");
}

}  // namespace moe::providers::cpu
