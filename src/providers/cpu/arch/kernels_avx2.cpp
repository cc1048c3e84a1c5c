// The kernels for AVX2 with FMA. Compiled with that set's flags: nothing in here may have external
// linkage but the table, or the linker could hand these instructions to code for an older
// processor.
#include "providers/cpu/arch/make_table.hpp"
#include "providers/cpu/arch/vec_avx2.hpp"

namespace moe::providers::cpu {

constinit const KernelTable kAvx2Kernels = make_table<VecAvx2>();

}  // namespace moe::providers::cpu
