// The instruction sets that the provider has kernels for, best first, and what this process may
// run. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "providers/cpu/arch/kernel_table.hpp"

namespace moe::providers::cpu {

// In the order of the variant lists. kReference stands for the scalar references of src/ops.
enum class Isa : uint8_t { kAvx512Bf16, kAvx512, kAvx2, kPortable, kReference };
constexpr int kIsaCount = static_cast<int>(Isa::kReference) + 1;

// "avx512_bf16", "avx512", "avx2", "portable", "ref": the values of OpenOptions::cpu_isa.
std::string_view name_of(Isa isa);
std::optional<Isa> isa_named(std::string_view name);
// All names, comma separated, for messages.
std::string isa_names();

// The processor has the instructions and this build the kernels.
bool runs_here(Isa isa);
Isa best_isa();

// Requires an instruction set with kernels (not kReference).
const KernelTable& kernels_of(Isa isa);

}  // namespace moe::providers::cpu
