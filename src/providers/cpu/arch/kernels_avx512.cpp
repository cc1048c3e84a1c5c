// The kernels for AVX-512 F, BW, VL and DQ. Compiled with that set's flags: nothing in here may
// have external linkage but the table, or the linker could hand these instructions to code for an
// older processor.
#include "providers/cpu/arch/make_table.hpp"
#include "providers/cpu/arch/vec_avx512.hpp"

namespace moe::providers::cpu {

constinit const KernelTable kAvx512Kernels = make_table<VecAvx512>();

}  // namespace moe::providers::cpu
