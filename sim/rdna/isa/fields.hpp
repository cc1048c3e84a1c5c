// The bit fields of each encoding, cut out of the first two dwords and named by the letters of
// isa/form.hpp. Layouts: RDNA3 ISA document, chapter 15. Threads: pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rdna/isa/instruction.hpp"

namespace moe::sim::rdna {

struct Fields {
  uint32_t opcode = 0;
  uint8_t base_dwords = 1;   // without literal or DPP word
  std::string_view present;  // letters of the fields that this encoding has
  std::array<uint32_t, 128> value{};

  uint32_t of(char letter) const { return value[static_cast<size_t>(letter) & 127]; }
};

// Which encoding a first dword has; nullopt for those the simulator does not know (image, export,
// interpolation, typed buffers).
std::optional<Encoding> encoding_of(uint32_t first);

// Fields of everything but VOPD's Y half. `second` is ignored by 32-bit encodings.
Fields fields_of(Encoding encoding, uint32_t first, uint32_t second);
Fields vopd_second_fields(uint32_t first, uint32_t second);

}  // namespace moe::sim::rdna
