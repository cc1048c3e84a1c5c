// The rules of the tree that a compiler does not check: file sizes, the direction of includes, and
// device names that must stay inside src/providers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace moe {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // relative to the project
  std::vector<std::string> lines;
  uintmax_t bytes = 0;
};

bool is_source(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".cpp", ".hpp", ".h",  ".c",
                                                    ".cu",  ".hip", ".inc"};
  return kExtensions.count(path.extension().string()) != 0;
}

std::vector<SourceFile> read_sources() {
  std::vector<SourceFile> files;
  const fs::path root = MOE_SOURCE_DIR;
  for (const char* folder : {"include", "src", "tests", "examples", "bench", "tools", "sim"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      SourceFile file;
      file.path = fs::relative(entry.path(), root).generic_string();
      file.bytes = entry.file_size();
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = read_sources();
  return files;
}

// The folder of src/ that a file belongs to, or "" outside src/.
std::string layer_of(const std::string& path) {
  if (path.rfind("src/", 0) != 0) return {};
  return path.substr(4, path.find('/', 4) - 4);
}

TEST(Structure, NoFileIsPastTheHouseLimit) {
  for (const SourceFile& file : sources()) {
    EXPECT_LE(file.lines.size(), 1000u) << file.path;
    EXPECT_LE(file.bytes, 40u * 1024) << file.path;
    const bool header = file.path.size() > 4 && file.path.substr(file.path.size() - 4) == ".hpp";
    if (header && file.path.find("/arch/") == std::string::npos) {
      EXPECT_LE(file.lines.size(), 300u) << file.path;
    }
  }
}

TEST(Structure, IncludesPointOneWay) {
  // What each folder may include besides itself.
  const std::map<std::string, std::set<std::string>> allowed = {
      {"base", {}},
      {"tensor", {"base"}},
      {"ops", {"base", "tensor"}},
      {"providers", {"base", "tensor", "ops"}},
      {"io", {"base", "tensor"}},
      {"text", {"base"}},
      {"model", {"base", "tensor", "ops", "io"}},
      {"engine", {"base", "tensor", "ops", "io", "text", "model", "providers"}},
      {"verify", {"base", "tensor", "ops", "io", "text", "model", "providers", "engine"}},
      {"api", {"base", "tensor", "ops", "io", "text", "model", "providers", "engine"}},
      {"cli", {"base", "tensor", "ops", "io", "text", "model", "providers", "engine", "verify"}},
  };
  int checked = 0;
  for (const SourceFile& file : sources()) {
    const std::string layer = layer_of(file.path);
    if (layer.empty()) continue;
    ASSERT_EQ(allowed.count(layer), 1u) << "unknown folder of " << file.path;
    for (const std::string& line : file.lines) {
      if (line.rfind("#include \"", 0) != 0) continue;
      const std::string included = line.substr(10, line.find('/', 10) - 10);
      if (included == layer || included == "moe" || allowed.count(included) == 0) continue;
      EXPECT_TRUE(allowed.at(layer).count(included)) << file.path << ": " << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

TEST(Structure, DeviceNamesStayInsideTheProviders) {
  // The two places that may name a device kind: the enum itself and the command line's help.
  const std::set<std::string> exempt = {"src/tensor/device.hpp"};
  for (const SourceFile& file : sources()) {
    const std::string layer = layer_of(file.path);
    if (layer.empty() || layer == "providers" || layer == "cli" || exempt.count(file.path))
      continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string code = file.lines[i].substr(0, file.lines[i].find("//"));
      for (const char* name : {"cuda", "kCuda", "hip", "rocm", "kRocm", "gfx1", "sm_90"}) {
        const size_t found = code.find(name);
        const bool word = found != std::string::npos &&
                          (found == 0 || !isalnum(static_cast<unsigned char>(code[found - 1])));
        EXPECT_FALSE(word) << file.path << ":" << i + 1 << ": " << file.lines[i];
      }
    }
  }
}

TEST(Structure, FilesOpenWithAComment) {
  for (const SourceFile& file : sources()) {
    const bool header = file.path.size() > 4 && file.path.substr(file.path.size() - 4) == ".hpp";
    if (!header || file.lines.empty()) continue;
    EXPECT_EQ(file.lines[0].rfind("//", 0), 0u) << file.path;
  }
}

}  // namespace
}  // namespace moe
