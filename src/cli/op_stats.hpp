// The table of `--op-stats`: what each variant of each operation did.
#pragma once

#include <string>

#include "moe/moe.hpp"

namespace moe::cli {

// One line per op x device x variant, then the choice of the expert chain.
std::string op_stats_text(const Model& model);

}  // namespace moe::cli
