// See fields.hpp.
#include "rdna/isa/fields.hpp"

namespace moe::sim::rdna {
namespace {

constexpr uint32_t bits(uint32_t word, int low, int count) {
  return (word >> low) & ((1u << count) - 1);
}

std::optional<Encoding> flat_segment(uint32_t first) {
  switch (bits(first, 16, 2)) {
    case 0:
      return Encoding::kFlat;
    case 1:
      return Encoding::kScratch;
    case 2:
      return Encoding::kGlobal;
  }
  return std::nullopt;
}

Fields scalar_fields(Encoding encoding, uint32_t first, uint32_t second) {
  Fields f;
  auto& v = f.value;
  v['D'] = bits(first, 16, 7);
  v['s'] = bits(first, 0, 8);
  v['t'] = bits(first, 8, 8);
  v['i'] = bits(first, 0, 16);
  switch (encoding) {
    case Encoding::kSop1:
      f.opcode = bits(first, 8, 8);
      f.present = "Ds";
      break;
    case Encoding::kSop2:
      f.opcode = bits(first, 23, 7);
      f.present = "Dst";
      break;
    case Encoding::kSopc:
      f.opcode = bits(first, 16, 7);
      f.present = "st";
      break;
    case Encoding::kSopk:
      f.opcode = bits(first, 23, 5);
      f.present = "Di";
      break;
    case Encoding::kSopp:
      f.opcode = bits(first, 16, 7);
      f.present = "i";
      break;
    default:  // SMEM
      f.opcode = bits(first, 18, 8);
      f.base_dwords = 2;
      f.present = "Dx";
      v['D'] = bits(first, 6, 7);
      v['x'] = bits(first, 0, 6) * 2;
      v['o'] = bits(second, 25, 7);
      break;
  }
  return f;
}

Fields vector_fields(Encoding encoding, uint32_t first, uint32_t second) {
  Fields f;
  auto& v = f.value;
  v['a'] = bits(first, 0, 9);
  v['v'] = bits(first, 9, 8);
  v['d'] = bits(first, 17, 8);
  switch (encoding) {
    case Encoding::kVop1:
      f.opcode = bits(first, 9, 8);
      f.present = "da";
      break;
    case Encoding::kVop2:
      f.opcode = bits(first, 25, 6);
      f.present = "dav";
      break;
    case Encoding::kVopc:
      f.opcode = bits(first, 17, 8);
      f.present = "av";
      break;
    case Encoding::kVopd:
      f.opcode = bits(first, 22, 4);
      f.base_dwords = 2;
      f.present = "dav";
      v['d'] = bits(second, 24, 8);
      break;
    default:  // VOP3 and VOP3P
      f.opcode = encoding == Encoding::kVop3 ? bits(first, 16, 10) : bits(first, 16, 7);
      f.base_dwords = 2;
      f.present = "dabc";
      v['d'] = bits(first, 0, 8);
      v['e'] = bits(first, 8, 7);
      v['a'] = bits(second, 0, 9);
      v['b'] = bits(second, 9, 9);
      v['c'] = bits(second, 18, 9);
      break;
  }
  v['E'] = v['d'];
  return f;
}

Fields memory_fields(Encoding encoding, uint32_t first, uint32_t second) {
  Fields f;
  auto& v = f.value;
  f.base_dwords = 2;
  f.opcode = encoding == Encoding::kDs || encoding == Encoding::kMubuf ? bits(first, 18, 8)
                                                                       : bits(first, 18, 7);
  v['x'] = bits(second, 0, 8);
  v['y'] = bits(second, 8, 8);
  v['d'] = bits(second, 24, 8);
  v['G'] = v['d'];
  v['z'] = bits(second, 16, 8);
  v['w'] = bits(second, 16, 7);
  f.present = encoding == Encoding::kDs ? "dxyz" : encoding == Encoding::kMubuf ? "" : "dxyw";
  return f;
}

}  // namespace

std::optional<Encoding> encoding_of(uint32_t first) {
  if ((first >> 31) == 0) {
    const uint32_t top = first >> 25;
    return top == 0x3f ? Encoding::kVop1 : top == 0x3e ? Encoding::kVopc : Encoding::kVop2;
  }
  if ((first >> 30) == 2) {
    const uint32_t top = first >> 23;
    if (top == 0x17d) return Encoding::kSop1;
    if (top == 0x17e) return Encoding::kSopc;
    if (top == 0x17f) return Encoding::kSopp;
    return (first >> 28) == 0xb ? Encoding::kSopk : Encoding::kSop2;
  }
  switch (first >> 26) {
    case 0x32:
      return Encoding::kVopd;
    case 0x35:
      return Encoding::kVop3;
    case 0x36:
      return Encoding::kDs;
    case 0x37:
      return flat_segment(first);
    case 0x38:
      return Encoding::kMubuf;
    case 0x3d:
      return Encoding::kSmem;
  }
  if ((first >> 24) == 0xcc && bits(first, 23, 1) == 0) return Encoding::kVop3p;
  return std::nullopt;
}

Fields fields_of(Encoding encoding, uint32_t first, uint32_t second) {
  switch (encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopc:
    case Encoding::kSopk:
    case Encoding::kSopp:
    case Encoding::kSmem:
      return scalar_fields(encoding, first, second);
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
    case Encoding::kVop3p:
    case Encoding::kVopd:
      return vector_fields(encoding, first, second);
    case Encoding::kDs:
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
    case Encoding::kMubuf:
      return memory_fields(encoding, first, second);
  }
  return {};
}

Fields vopd_second_fields(uint32_t first, uint32_t second) {
  Fields f;
  f.opcode = bits(first, 17, 5);
  f.base_dwords = 2;
  f.present = "dav";
  f.value['a'] = bits(second, 0, 9);
  f.value['v'] = bits(second, 9, 8);
  // Seven bits are encoded; the lowest is the opposite of X's, so that both banks are written.
  f.value['d'] = bits(second, 17, 7) << 1 | (~(second >> 24) & 1u);
  return f;
}

}  // namespace moe::sim::rdna
