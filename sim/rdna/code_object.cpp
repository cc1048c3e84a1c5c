// See code_object.hpp. Numbers: LLVM AMDGPU usage, "Code Object".
#include "rdna/code_object.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/checked_math.hpp"
#include "base/errors.hpp"
#include "rdna/elf_file.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kFix = "the code object is damaged; build it again";
constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint8_t kOsAbiHsa = 0x40;
constexpr uint32_t kMetadataNoteType = 32;
constexpr uint32_t kRelative64 = 13;
constexpr uint64_t kCodeAlignment = 256;
constexpr uint8_t kSymbolObject = 1;
constexpr uint8_t kSymbolFunction = 2;
constexpr std::string_view kDescriptorSuffix = ".kd";

struct Machine {
  uint32_t flag;
  const char* name;
};
constexpr Machine kMachines[] = {{0x41, "gfx1100"}, {0x46, "gfx1101"},       {0x47, "gfx1102"},
                                 {0x44, "gfx1103"}, {0x43, "gfx1150"},       {0x4a, "gfx1151"},
                                 {0x55, "gfx1152"}, {0x54, "gfx11-generic"}, {0x48, "gfx1200"},
                                 {0x4e, "gfx1201"}, {0x59, "gfx12-generic"}};

class Parser {
 public:
  Parser(const ElfFile& elf, std::string_view source) : elf_(elf), source_(source) {}
  Result<CodeObject> run();

 private:
  Error wrong(const std::string& what) const {
    return corrupt(fmt::format("{}: {}", source_, what), kFix);
  }
  Status read_target();
  Result<std::span<const std::byte>> find_metadata() const;
  Status check_metadata(const CodeObjectMetadata& metadata) const;
  Status index_symbols();
  Result<Kernel> make_kernel(KernelMetadata metadata) const;
  Status check_agreement(const Kernel& kernel) const;
  Status add_relocations();
  void add_segments();
  void add_variables();

  const ElfFile& elf_;
  std::string_view source_;
  std::map<std::string_view, const ElfSymbol*> symbols_;
  CodeObject object_;
};

Status Parser::read_target() {
  if (elf_.machine != kMachineAmdGpu || elf_.os_abi != kOsAbiHsa) {
    return unsupported(fmt::format("{}: ELF machine {} with OS ABI 0x{:x}, wanted {} with 0x{:x} "
                                   "(AMDGPU for HSA)",
                                   source_, elf_.machine, elf_.os_abi, kMachineAmdGpu, kOsAbiHsa),
                       "give a code object compiled with -x hip --cuda-device-only");
  }
  if (elf_.abi_version < 2 || elf_.abi_version > 4) {
    return unsupported(fmt::format("{}: ELF ABI version {}, wanted 2..4 (code object version 4..6)",
                                   source_, elf_.abi_version),
                       "compile with -mcode-object-version=5");
  }
  object_.version = elf_.abi_version + 2u;
  const uint32_t flag = elf_.flags & 0xff;
  for (const Machine& machine : kMachines) {
    if (machine.flag == flag) object_.target = machine.name;
  }
  if (object_.target.empty()) {
    std::string known;
    for (const Machine& machine : kMachines) known += fmt::format(" {}", machine.name);
    return unsupported(
        fmt::format("{}: machine 0x{:x} in e_flags is none of{}", source_, flag, known),
        "compile with --offload-arch=gfx1100");
  }
  object_.generic_version = elf_.flags >> 24;
  return {};
}

Result<std::span<const std::byte>> Parser::find_metadata() const {
  std::optional<std::span<const std::byte>> found;
  for (std::span<const std::byte> rest : elf_.notes) {
    while (!rest.empty()) {
      uint32_t words[3] = {};
      if (rest.size() < sizeof(words)) return wrong("a note is cut off");
      std::memcpy(words, rest.data(), sizeof(words));
      const uint64_t name_bytes = round_up(uint64_t{words[0]}, uint64_t{4});
      const uint64_t data_bytes = round_up(uint64_t{words[1]}, uint64_t{4});
      rest = rest.subspan(sizeof(words));
      if (name_bytes + data_bytes > rest.size()) {
        return wrong(fmt::format("a note of {} bytes, its segment has {} left",
                                 name_bytes + data_bytes, rest.size()));
      }
      const std::string_view name(reinterpret_cast<const char*>(rest.data()), words[0]);
      if (words[2] == kMetadataNoteType && name == std::string_view("AMDGPU\0", 7)) {
        if (found) return wrong("two metadata notes");
        found = rest.subspan(name_bytes, words[1]);
      }
      rest = rest.subspan(name_bytes + data_bytes);
    }
  }
  if (!found) return wrong("no NT_AMDGPU_METADATA note");
  return *found;
}

Status Parser::check_metadata(const CodeObjectMetadata& metadata) const {
  const uint32_t minor = object_.version == 4 ? 1 : 2;
  if (metadata.version_major != 1 || metadata.version_minor != minor) {
    return wrong(fmt::format("amdhsa.version is {}.{}, wanted 1.{} in code object version {}",
                             metadata.version_major, metadata.version_minor, minor,
                             object_.version));
  }
  const size_t dashes = metadata.target.rfind("--");
  std::string name =
      dashes == std::string::npos ? metadata.target : metadata.target.substr(dashes + 2);
  name = name.substr(0, name.find(':'));
  if (name != object_.target) {
    return wrong(
        fmt::format("amdhsa.target is \"{}\", e_flags say {}", metadata.target, object_.target));
  }
  return {};
}

Status Parser::index_symbols() {
  for (const ElfSymbol& symbol : elf_.symbols) {
    if (symbol.name.empty() || symbol.section == 0) continue;
    if (!symbols_.emplace(symbol.name, &symbol).second) {
      return wrong(fmt::format("symbol \"{}\" is defined twice", symbol.name));
    }
  }
  return {};
}

Status Parser::check_agreement(const Kernel& kernel) const {
  const KernelMetadata& m = kernel.metadata;
  const KernelDescriptor& d = kernel.descriptor;
  const auto differ = [&](const char* what, uint64_t in_metadata, uint64_t in_descriptor) {
    return wrong(fmt::format("kernel \"{}\": {} is {} in the metadata and {} in the descriptor",
                             m.name, what, in_metadata, in_descriptor));
  };
  if (m.group_segment_fixed_bytes != d.group_segment_fixed_bytes) {
    return differ("the group segment", m.group_segment_fixed_bytes, d.group_segment_fixed_bytes);
  }
  if (m.private_segment_fixed_bytes != d.private_segment_fixed_bytes) {
    return differ("the private segment", m.private_segment_fixed_bytes,
                  d.private_segment_fixed_bytes);
  }
  if (m.kernarg_segment_bytes != d.kernarg_bytes) {
    return differ("the argument segment", m.kernarg_segment_bytes, d.kernarg_bytes);
  }
  if (m.wavefront_size != 32) return differ("the wave size", m.wavefront_size, 32);
  if (m.vgpr_count > d.vgpr_count) return differ("the VGPR count", m.vgpr_count, d.vgpr_count);
  return {};
}

Result<Kernel> Parser::make_kernel(KernelMetadata metadata) const {
  Kernel kernel;
  kernel.metadata = std::move(metadata);
  const std::string& name = kernel.metadata.name;
  const std::string where = fmt::format("kernel \"{}\"", name);
  const auto descriptor = symbols_.find(kernel.metadata.symbol);
  if (descriptor == symbols_.end()) {
    return wrong(
        fmt::format("{}: its descriptor \"{}\" is no symbol", where, kernel.metadata.symbol));
  }
  kernel.descriptor_address = descriptor->second->value;
  const auto bytes = elf_.at(kernel.descriptor_address, kKernelDescriptorBytes);
  if (!bytes || descriptor->second->size != kKernelDescriptorBytes) {
    return wrong(fmt::format("{}: its descriptor at 0x{:x} has {} bytes, wanted {} in a segment",
                             where, kernel.descriptor_address, descriptor->second->size,
                             kKernelDescriptorBytes));
  }
  kernel.descriptor = TRY(read_kernel_descriptor(*bytes, fmt::format("{}: {}", source_, where)));
  const auto code =
      symbols_.find(std::string_view(kernel.metadata.symbol)
                        .substr(0, kernel.metadata.symbol.size() - kDescriptorSuffix.size()));
  if (!std::string_view(kernel.metadata.symbol).ends_with(kDescriptorSuffix) ||
      code == symbols_.end() || code->second->type != kSymbolFunction) {
    return wrong(fmt::format("{}: no code symbol beside \"{}\"", where, kernel.metadata.symbol));
  }
  kernel.code_address = code->second->value;
  kernel.code_bytes = code->second->size;
  const uint64_t entry =
      kernel.descriptor_address + static_cast<uint64_t>(kernel.descriptor.entry_offset);
  if (entry != kernel.code_address || entry % kCodeAlignment != 0) {
    return wrong(
        fmt::format("{}: entry 0x{:x} in the descriptor, symbol at 0x{:x}, wanted the same "
                    "multiple of {}",
                    where, entry, kernel.code_address, kCodeAlignment));
  }
  const ElfSegment* segment = elf_.segment_of(kernel.code_address, kernel.code_bytes);
  if (segment == nullptr || !segment->executable ||
      !elf_.at(kernel.code_address, kernel.code_bytes) || kernel.code_bytes == 0 ||
      kernel.code_bytes % sizeof(uint32_t) != 0) {
    return wrong(fmt::format("{}: its code 0x{:x}+{} is not in an executable segment", where,
                             kernel.code_address, kernel.code_bytes));
  }
  TRY(check_agreement(kernel));
  return kernel;
}

Status Parser::add_relocations() {
  for (const ElfRelocation& relocation : elf_.relocations) {
    if (relocation.type != kRelative64 || relocation.symbol != 0) {
      return unsupported(
          fmt::format("{}: relocation type {} with symbol {} at 0x{:x}, wanted {} "
                      "(R_AMDGPU_RELATIVE64) without symbol",
                      source_, relocation.type, relocation.symbol, relocation.offset, kRelative64),
          "define every symbol that the code object uses");
    }
    if (!elf_.at(relocation.offset, sizeof(uint64_t))) {
      return wrong(fmt::format("a relocation at 0x{:x}, outside the segments", relocation.offset));
    }
    object_.relocations.push_back({relocation.offset, relocation.addend});
  }
  return {};
}

void Parser::add_segments() {
  for (const ElfSegment& segment : elf_.segments) {
    object_.segments.push_back({segment.address,
                                segment.memory_bytes,
                                {segment.bytes.begin(), segment.bytes.end()},
                                segment.writable,
                                segment.executable});
  }
  object_.memory_bytes = elf_.segments.back().address + elf_.segments.back().memory_bytes;
}

void Parser::add_variables() {
  for (const auto& [name, symbol] : symbols_) {
    if (symbol->type != kSymbolObject || name.ends_with(kDescriptorSuffix)) continue;
    if (elf_.segment_of(symbol->value, symbol->size) == nullptr) continue;
    object_.variables.push_back({std::string(name), symbol->value, symbol->size});
  }
}

Result<CodeObject> Parser::run() {
  TRY(read_target());
  if (elf_.segments.back().address + elf_.segments.back().memory_bytes > kMaxImageBytes) {
    return wrong(fmt::format("the image ends at 0x{:x}, the limit is 0x{:x}",
                             elf_.segments.back().address + elf_.segments.back().memory_bytes,
                             kMaxImageBytes));
  }
  CodeObjectMetadata metadata = TRY(read_metadata(TRY(find_metadata()), source_));
  TRY(check_metadata(metadata));
  TRY(index_symbols());
  for (KernelMetadata& entry : metadata.kernels) {
    if (object_.find_kernel(entry.name) != nullptr) {
      return wrong(fmt::format("kernel \"{}\" is described twice", entry.name));
    }
    object_.kernels.push_back(TRY(make_kernel(std::move(entry))));
  }
  TRY(add_relocations());
  add_segments();
  add_variables();
  return std::move(object_);
}

}  // namespace

const Kernel* CodeObject::find_kernel(std::string_view name) const {
  for (const Kernel& kernel : kernels) {
    if (kernel.metadata.name == name) return &kernel;
  }
  return nullptr;
}

std::vector<uint32_t> CodeObject::code_words(uint64_t address, uint64_t bytes) const {
  for (const LoadedSegment& segment : segments) {
    if (bytes < sizeof(uint32_t) || !segment.executable || address < segment.address) continue;
    const uint64_t offset = address - segment.address;
    if (offset > segment.bytes.size() || bytes > segment.bytes.size() - offset) continue;
    std::vector<uint32_t> words(bytes / sizeof(uint32_t));
    std::memcpy(words.data(), segment.bytes.data() + offset, words.size() * sizeof(uint32_t));
    return words;
  }
  return {};
}

Result<CodeObject> parse_code_object(std::span<const std::byte> bytes, std::string_view source) {
  const ElfFile elf = TRY(read_elf(bytes, source));
  return Parser(elf, source).run();
}

}  // namespace moe::sim::rdna
