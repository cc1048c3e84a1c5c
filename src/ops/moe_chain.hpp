// Which expert chain a model runs on a device: native only when all five MoE providers are there,
// the complete legacy chain otherwise, never a mix.
#pragma once

#include <vector>

#include "ops/op_table.hpp"

namespace moe::ops {

struct MoeChain {
  MoeNumerics numerics = MoeNumerics::kLegacy;
  std::vector<OpId> missing;  // providers that native needs and the device lacks
};

// The sizes of one expert block, for asking providers.
struct MoeShape {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t experts = 0;
  int64_t slots = 0;
};

// `wanted` legacy gives legacy without a look. Counts each missing provider in `table`.
MoeChain select_moe_chain(OpTable& table, const MoeShape& shape, MoeNumerics wanted);

}  // namespace moe::ops
