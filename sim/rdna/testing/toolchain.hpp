// For tests: compiles, assembles and disassembles with LLVM 19's programs, to have a second opinion
// about code objects and instructions. Not part of the library. Threads: one test at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace moe::sim::rdna::testing {

struct DisassembledLine {
  std::string text;  // without comment and outer blanks
  std::vector<uint32_t> dwords;
};
using Disassembly = std::map<uint64_t, DisassembledLine>;

// Empty when everything is installed, else what is missing (for GTEST_SKIP).
std::string missing_tools();

// A folder of this process that its destructor removes.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(std::string_view name) const;

 private:
  std::string path_;
};

// Each throws std::runtime_error with the program's output when it fails.
std::vector<std::byte> compile_hip(const ScratchFolder& folder, const std::string& source,
                                   const std::string& target, const std::string& extra_flags = {});
std::string assemble(const ScratchFolder& folder, const std::string& text,
                     const std::string& target);
Disassembly disassemble(const std::string& object_path, const std::string& target);

std::vector<std::byte> read_bytes(const std::string& path);

}  // namespace moe::sim::rdna::testing
