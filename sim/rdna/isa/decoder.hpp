// From instruction dwords to a decoded instruction, for gfx11 (gfx1100..1103, 1150, 1151).
// Strict: whatever the tables do not know, a modifier that the operation does not take, a set bit
// in an unused field, all are errors that name address, dwords, encoding and opcode number.
// Threads: free functions on plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "moe/result.hpp"
#include "rdna/isa/instruction.hpp"

namespace moe::sim::rdna {

enum class Isa : uint8_t { kGfx11, kGfx115 };

// By the name of a target, such as "gfx1100"; nullopt for those the decoder does not know.
std::optional<Isa> isa_of(std::string_view target);

// `words` starts at the instruction and may run beyond it; `address` names it in errors.
// Errors: unsupported (unknown encoding, opcode, operand or modifier), corrupt (cut off).
Result<Instruction> decode(std::span<const uint32_t> words, uint64_t address, Isa isa);

// Every instruction of `words` in order; the first error ends it.
Result<std::vector<Instruction>> decode_all(std::span<const uint32_t> words, uint64_t address,
                                            Isa isa);

// The address a SOPP branch or s_call_b64 goes to.
uint64_t branch_target(const Instruction& instruction);

}  // namespace moe::sim::rdna
