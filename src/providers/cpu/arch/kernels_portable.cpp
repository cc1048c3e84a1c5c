// The kernels for any processor; the baseline that the others are compared with.
#include "providers/cpu/arch/make_table.hpp"
#include "providers/cpu/arch/vec_portable.hpp"

namespace moe::providers::cpu {

constinit const KernelTable kPortableKernels = make_table<VecPortable>();

}  // namespace moe::providers::cpu
