// Writes safetensors files: the header first, then tensor data in any order and in pieces, so that
// a producer need not hold everything. The file appears under its name when finish() succeeds;
// before that it is `<path>.partial`, which is removed when the writer is given up.
// A writer belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/stored_type.hpp"
#include "moe/result.hpp"

namespace moe::io {

struct TensorSpec {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<int64_t> shape;
};

using FileMetadata = std::vector<std::pair<std::string, std::string>>;

class SafetensorsWriter {
 public:
  // Data begins at a multiple of 64 bytes; tensors of larger element types come first, so that
  // each is aligned to its element size.
  static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                          std::vector<TensorSpec> specs,
                                          const FileMetadata& metadata = {});
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();

  // Appends to the data of specs[tensor]. More bytes than its shape holds are invalid_argument.
  Status append(size_t tensor, std::span<const std::byte> data);
  // Requires that all data was given; puts the file under its name.
  Status finish();

 private:
  struct Slot {
    std::string name;
    uint64_t begin = 0;  // file offset
    uint64_t bytes = 0;
    uint64_t filled = 0;
  };
  SafetensorsWriter(std::filesystem::path path, int descriptor, std::vector<Slot> slots);

  std::filesystem::path path_;
  std::filesystem::path partial_path_;
  int descriptor_ = -1;
  std::vector<Slot> slots_;  // as in `specs`
};

struct NamedTensor {
  TensorSpec spec;
  std::span<const std::byte> data;
};

// A whole file of tensors that are in memory.
Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const FileMetadata& metadata = {});

// A model folder: `model.safetensors` for one shard, else shards of about as many tensors each and
// `model.safetensors.index.json`. The folder must exist.
Status write_checkpoint(const std::filesystem::path& folder, std::span<const NamedTensor> tensors,
                        int shard_count);

}  // namespace moe::io
