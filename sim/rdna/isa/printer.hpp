// The text of a decoded instruction, equal to what llvm-objdump-19 prints for the same dwords
// (without its comment). For messages and for the tests that compare with it. Threads: pure.
#pragma once

#include <string>

#include "rdna/isa/instruction.hpp"

namespace moe::sim::rdna {

std::string to_text(const Instruction& instruction);

// "s4", "v[8:15]", "vcc_lo", "0.5", "0x42f60000": an operand without its modifiers.
std::string to_text(const Operand& operand);

}  // namespace moe::sim::rdna
