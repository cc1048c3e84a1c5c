// See elf_file.hpp.
#include "rdna/elf_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "base/checked_math.hpp"
#include "base/errors.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kFix = "the code object is damaged; build it again";
constexpr const char* kKindFix =
    "give a plain code object as clang writes it with --no-gpu-bundle-output";

constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kProgramHeaderBytes = 56;
constexpr uint64_t kSectionHeaderBytes = 64;
constexpr uint64_t kSymbolBytes = 24;
constexpr uint64_t kRelocationBytes = 24;
constexpr uint32_t kLoadSegment = 1;
constexpr uint32_t kNoteSegment = 4;
constexpr uint32_t kSectionStrings = 3;
constexpr uint32_t kSectionRela = 4;
constexpr uint32_t kSectionNoBits = 8;
constexpr uint32_t kSectionRel = 9;
constexpr uint32_t kSectionDynamicSymbols = 11;
constexpr uint64_t kSectionIsLoaded = 2;
constexpr uint32_t kSegmentExecute = 1;
constexpr uint32_t kSegmentWrite = 2;

template <class Int>
Int load(std::span<const std::byte> bytes, uint64_t offset) {
  Int value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(Int));
  return value;
}

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view source)
      : bytes_(bytes), source_(source) {}
  Result<ElfFile> run();

 private:
  Error wrong(const std::string& what) const {
    return corrupt(fmt::format("{}: {}", source_, what), kFix);
  }
  Result<std::span<const std::byte>> slice(uint64_t offset, uint64_t size,
                                           std::string_view what) const;
  Result<std::string_view> text_at(const ElfSection& strings, uint64_t offset,
                                   std::string_view what) const;
  Status read_header();
  Status read_segments();
  Status add_segment(std::span<const std::byte> header, uint32_t flags);
  Status read_sections();
  Status name_sections(uint32_t names_index);
  Status read_symbols(const ElfSection& section);
  Status read_relocations(const ElfSection& section);

  std::span<const std::byte> bytes_;
  std::string_view source_;
  ElfFile file_;
  std::vector<uint32_t> name_offsets_;
};

Result<std::span<const std::byte>> Parser::slice(uint64_t offset, uint64_t size,
                                                 std::string_view what) const {
  const auto end = checked_add(offset, size);
  if (!end || *end > bytes_.size()) {
    return wrong(
        fmt::format("{} lies at bytes {}+{}, the file has {}", what, offset, size, bytes_.size()));
  }
  return bytes_.subspan(offset, size);
}

Result<std::string_view> Parser::text_at(const ElfSection& strings, uint64_t offset,
                                         std::string_view what) const {
  const auto* data = reinterpret_cast<const char*>(strings.bytes.data());
  const std::string_view all(data, strings.bytes.size());
  const size_t end = offset < all.size() ? all.find('\0', offset) : std::string_view::npos;
  if (end == std::string_view::npos) {
    return wrong(fmt::format("the name of {} at {} leaves its string table of {} bytes", what,
                             offset, all.size()));
  }
  return all.substr(offset, end - offset);
}

Status Parser::read_header() {
  if (bytes_.size() > kMaxElfBytes) {
    return wrong(fmt::format("{} bytes, the limit is {}", bytes_.size(), kMaxElfBytes));
  }
  if (bytes_.size() < kHeaderBytes) {
    return wrong(fmt::format("{} bytes, an ELF header has {}", bytes_.size(), kHeaderBytes));
  }
  if (std::memcmp(bytes_.data(),
                  "\x7f"
                  "ELF",
                  4) != 0) {
    const bool bundle =
        bytes_.size() > 24 && std::memcmp(bytes_.data(), "__CLANG_OFFLOAD_BUNDLE__", 24) == 0;
    return unsupported(fmt::format("{}: {}, wanted an ELF file", source_,
                                   bundle ? "got a clang offload bundle" : "no ELF magic"),
                       kKindFix);
  }
  const auto kind = load<uint8_t>(bytes_, 4);
  const auto order = load<uint8_t>(bytes_, 5);
  const auto type = load<uint16_t>(bytes_, 16);
  if (kind != 2 || order != 1 || type != 3) {
    return unsupported(fmt::format("{}: ELF class {}, byte order {}, type {}, wanted 2, 1, 3 "
                                   "(64-bit little-endian shared object)",
                                   source_, kind, order, type),
                       kKindFix);
  }
  file_.os_abi = load<uint8_t>(bytes_, 7);
  file_.abi_version = load<uint8_t>(bytes_, 8);
  file_.machine = load<uint16_t>(bytes_, 18);
  file_.flags = load<uint32_t>(bytes_, 48);
  return {};
}

Status Parser::add_segment(std::span<const std::byte> header, uint32_t flags) {
  ElfSegment segment;
  const auto offset = load<uint64_t>(header, 8);
  const auto file_bytes = load<uint64_t>(header, 32);
  segment.address = load<uint64_t>(header, 16);
  segment.memory_bytes = load<uint64_t>(header, 40);
  segment.writable = (flags & kSegmentWrite) != 0;
  segment.executable = (flags & kSegmentExecute) != 0;
  if (file_bytes > segment.memory_bytes) {
    return wrong(fmt::format("a segment has {} bytes in the file and {} in memory", file_bytes,
                             segment.memory_bytes));
  }
  segment.bytes = TRY(slice(offset, file_bytes, "a loaded segment"));
  const auto end = checked_add(segment.address, segment.memory_bytes);
  if (!end) return wrong(fmt::format("a segment at 0x{:x} wraps around", segment.address));
  if (!file_.segments.empty()) {
    const ElfSegment& last = file_.segments.back();
    if (segment.address < last.address + last.memory_bytes) {
      return wrong(
          fmt::format("the segment at 0x{:x} overlaps the one at 0x{:x} or stands before it",
                      segment.address, last.address));
    }
  }
  const uint64_t lowest = file_.segments.empty() ? segment.address : file_.segments[0].address;
  if (*end - lowest > kMaxImageBytes) {
    return wrong(
        fmt::format("the segments span {} bytes, the limit is {}", *end - lowest, kMaxImageBytes));
  }
  file_.segments.push_back(segment);
  return {};
}

Status Parser::read_segments() {
  const auto offset = load<uint64_t>(bytes_, 32);
  const auto entry_bytes = load<uint16_t>(bytes_, 54);
  const auto count = load<uint16_t>(bytes_, 56);
  if (count == 0 || count > kMaxProgramHeaders || entry_bytes != kProgramHeaderBytes) {
    return wrong(fmt::format("{} program headers of {} bytes, wanted 1..{} of {}", count,
                             entry_bytes, kMaxProgramHeaders, kProgramHeaderBytes));
  }
  const auto headers = TRY(slice(offset, count * kProgramHeaderBytes, "the program header table"));
  for (uint64_t i = 0; i < count; ++i) {
    const auto header = headers.subspan(i * kProgramHeaderBytes, kProgramHeaderBytes);
    const auto type = load<uint32_t>(header, 0);
    if (type == kLoadSegment) TRY(add_segment(header, load<uint32_t>(header, 4)));
    if (type == kNoteSegment) {
      file_.notes.push_back(
          TRY(slice(load<uint64_t>(header, 8), load<uint64_t>(header, 32), "a note segment")));
    }
  }
  if (file_.segments.empty()) return wrong("no loaded segment");
  return {};
}

Status Parser::name_sections(uint32_t names_index) {
  if (names_index >= file_.sections.size() || file_.sections[names_index].type != kSectionStrings) {
    return wrong(fmt::format("section names in section {}, which is no string table", names_index));
  }
  for (size_t i = 0; i < file_.sections.size(); ++i) {
    file_.sections[i].name =
        TRY(text_at(file_.sections[names_index], name_offsets_[i], fmt::format("section {}", i)));
  }
  return {};
}

Status Parser::read_sections() {
  const auto offset = load<uint64_t>(bytes_, 40);
  const auto entry_bytes = load<uint16_t>(bytes_, 58);
  const auto count = load<uint16_t>(bytes_, 60);
  if (count == 0 || count > kMaxSections || entry_bytes != kSectionHeaderBytes) {
    return wrong(fmt::format("{} section headers of {} bytes, wanted 1..{} of {}", count,
                             entry_bytes, kMaxSections, kSectionHeaderBytes));
  }
  const auto headers = TRY(slice(offset, count * kSectionHeaderBytes, "the section header table"));
  for (uint64_t i = 0; i < count; ++i) {
    const auto header = headers.subspan(i * kSectionHeaderBytes, kSectionHeaderBytes);
    ElfSection section;
    name_offsets_.push_back(load<uint32_t>(header, 0));
    section.type = load<uint32_t>(header, 4);
    section.flags = load<uint64_t>(header, 8);
    section.address = load<uint64_t>(header, 16);
    section.size = load<uint64_t>(header, 32);
    section.link = load<uint32_t>(header, 40);
    section.entry_bytes = load<uint64_t>(header, 56);
    if (section.type != 0 && section.type != kSectionNoBits) {
      section.bytes =
          TRY(slice(load<uint64_t>(header, 24), section.size, fmt::format("section {}", i)));
    }
    file_.sections.push_back(section);
  }
  TRY(name_sections(load<uint16_t>(bytes_, 62)));
  for (const ElfSection& section : file_.sections) {
    if (section.type == kSectionDynamicSymbols) TRY(read_symbols(section));
    if ((section.flags & kSectionIsLoaded) == 0) continue;
    if (section.type == kSectionRela) TRY(read_relocations(section));
    if (section.type == kSectionRel) return wrong("relocations without addends (SHT_REL)");
  }
  return {};
}

Status Parser::read_symbols(const ElfSection& section) {
  if (!file_.symbols.empty()) return wrong("more than one dynamic symbol table");
  const uint64_t count = section.size / kSymbolBytes;
  if (section.entry_bytes != kSymbolBytes || section.size % kSymbolBytes != 0 ||
      count > kMaxSymbols) {
    return wrong(fmt::format("{} has {} bytes in entries of {}, wanted at most {} of {}",
                             section.name, section.size, section.entry_bytes, kMaxSymbols,
                             kSymbolBytes));
  }
  if (section.link >= file_.sections.size() ||
      file_.sections[section.link].type != kSectionStrings) {
    return wrong(
        fmt::format("{} names section {} as its string table", section.name, section.link));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = section.bytes.subspan(i * kSymbolBytes, kSymbolBytes);
    ElfSymbol symbol;
    symbol.name = TRY(text_at(file_.sections[section.link], load<uint32_t>(entry, 0),
                              fmt::format("symbol {}", i)));
    symbol.type = load<uint8_t>(entry, 4) & 15;
    symbol.section = load<uint16_t>(entry, 6);
    symbol.value = load<uint64_t>(entry, 8);
    symbol.size = load<uint64_t>(entry, 16);
    file_.symbols.push_back(symbol);
  }
  return {};
}

Status Parser::read_relocations(const ElfSection& section) {
  const uint64_t count = section.size / kRelocationBytes;
  if (section.entry_bytes != kRelocationBytes || section.size % kRelocationBytes != 0 ||
      count + file_.relocations.size() > kMaxRelocations) {
    return wrong(fmt::format("{} has {} bytes in entries of {}, wanted at most {} of {}",
                             section.name, section.size, section.entry_bytes, kMaxRelocations,
                             kRelocationBytes));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = section.bytes.subspan(i * kRelocationBytes, kRelocationBytes);
    ElfRelocation relocation;
    relocation.offset = load<uint64_t>(entry, 0);
    relocation.type = load<uint32_t>(entry, 8);
    relocation.symbol = load<uint32_t>(entry, 12);
    relocation.addend = load<int64_t>(entry, 16);
    file_.relocations.push_back(relocation);
  }
  return {};
}

Result<ElfFile> Parser::run() {
  TRY(read_header());
  TRY(read_segments());
  TRY(read_sections());
  return std::move(file_);
}

}  // namespace

const ElfSegment* ElfFile::segment_of(uint64_t address, uint64_t size) const {
  for (const ElfSegment& segment : segments) {
    if (address < segment.address) continue;
    const uint64_t offset = address - segment.address;
    if (offset <= segment.memory_bytes && size <= segment.memory_bytes - offset) return &segment;
  }
  return nullptr;
}

std::optional<std::span<const std::byte>> ElfFile::at(uint64_t address, uint64_t size) const {
  const ElfSegment* segment = segment_of(address, size);
  if (segment == nullptr) return std::nullopt;
  const uint64_t offset = address - segment->address;
  if (offset > segment->bytes.size() || size > segment->bytes.size() - offset) return std::nullopt;
  return segment->bytes.subspan(offset, size);
}

Result<ElfFile> read_elf(std::span<const std::byte> bytes, std::string_view source) {
  return Parser(bytes, source).run();
}

}  // namespace moe::sim::rdna
