// Checkpoints that tests write from a changed copy of a bundled one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/safetensors_writer.hpp"

namespace moe::golden {

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "moe-layout-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::vector<io::NamedTensor> tensors_of(const io::Checkpoint& checkpoint) {
  std::vector<io::NamedTensor> tensors;
  for (const io::TensorInfo& tensor : checkpoint.tensors()) {
    tensors.push_back({{tensor.name, tensor.type, tensor.shape}, {tensor.data, tensor.bytes}});
  }
  return tensors;
}

}  // namespace moe::golden
