// See toolchain.hpp.
#include "rdna/testing/toolchain.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace moe::sim::rdna::testing {
namespace {

namespace fs = std::filesystem;

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + command);
  std::array<char, 65536> buffer;
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), n);
  }
  if (pclose(pipe) != 0) throw std::runtime_error(command + "\n" + output.substr(0, 4000));
  return output;
}

bool on_path(const char* program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "\ts_mov_b32 s0, s1    // 000000001600: BE800001 <k+0x4>"
void add_line(Disassembly& lines, const std::string& line) {
  const size_t comment = line.rfind("// ");
  if (line.empty() || line[0] != '\t' || comment == std::string::npos) return;
  const size_t colon = line.find(':', comment);
  if (colon == std::string::npos) return;
  const uint64_t address = std::stoull(line.substr(comment + 3, colon - comment - 3), nullptr, 16);
  DisassembledLine entry;
  entry.text = trimmed(line.substr(0, comment));
  std::stringstream words(line.substr(colon + 1));
  for (std::string word; words >> word && word[0] != '<' && word[0] != ';';) {
    if (word.find_first_not_of("0123456789ABCDEF") != std::string::npos) {
      throw std::runtime_error("cannot read this line of llvm-objdump: " + line);
    }
    entry.dwords.push_back(static_cast<uint32_t>(std::stoul(word, nullptr, 16)));
  }
  lines.emplace(address, std::move(entry));
}

}  // namespace

std::string missing_tools() {
  for (const char* program : {"clang-19", "llvm-objdump-19", "llvm-mc-19"}) {
    if (!on_path(program)) return fmt::format("{} is not installed", program);
  }
  return {};
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "moe_sim_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::file(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

std::vector<std::byte> compile_hip(const ScratchFolder& folder, const std::string& source,
                                   const std::string& target, const std::string& extra_flags) {
  const std::string output = folder.file("kernel." + target + ".hsaco");
  run(
      fmt::format("clang-19 -x hip --cuda-device-only --offload-arch={} -nogpulib -nogpuinc -O3 "
                  "-std=c++20 -mcode-object-version=5 --no-gpu-bundle-output {} '{}' -o '{}'",
                  target, extra_flags, source, output));
  return read_bytes(output);
}

std::string assemble(const ScratchFolder& folder, const std::string& text,
                     const std::string& target) {
  const std::string source = folder.file("code.s");
  std::ofstream(source) << text;
  const std::string object = folder.file("code.o");
  run(fmt::format("llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu={} -filetype=obj '{}' -o '{}'",
                  target, source, object));
  return object;
}

Disassembly disassemble(const std::string& object_path, const std::string& target) {
  std::stringstream output(
      run(fmt::format("llvm-objdump-19 -d -z --mcpu={} '{}'", target, object_path)));
  Disassembly lines;
  for (std::string line; std::getline(output, line);) add_line(lines, line);
  return lines;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace moe::sim::rdna::testing
