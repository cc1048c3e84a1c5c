// For tests: dwords of a random instance of an instruction form, with every field, modifier and
// constant that the form allows, to compare the decoder with another one. Threads: pure.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "rdna/isa/form.hpp"

namespace moe::sim::rdna::testing {

inline constexpr size_t kSlotDwords = 4;  // the longest instruction and one to spare

using Slot = std::array<uint32_t, kSlotDwords>;

// `plain`: no modifier, no constant that needs a second dword.
Slot random_encoding(Encoding encoding, const Form& form, std::mt19937& random, bool plain);

}  // namespace moe::sim::rdna::testing
