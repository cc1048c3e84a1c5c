// The variant lists of this provider, and their registration.
#pragma once

#include <span>
#include <string>

#include "ops/op_table.hpp"
#include "providers/cpu/arch/isa.hpp"

namespace moe::providers::cpu {

// Adds to `table`, for each op, the variants from `best` down; the names in `disabled` stay out.
void register_variants(ops::OpTable& table, Isa best, std::span<const std::string> disabled);

}  // namespace moe::providers::cpu
