// All tensors of a model folder: `model.safetensors`, or the shards that
// `model.safetensors.index.json` names. Opening maps the files and reads their headers only.
// Immutable after opening; any thread may read it. Tensor data lives as long as the Checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"
#include "moe/result.hpp"

namespace moe::io {

inline constexpr size_t kMaxIndexBytes = 100'000'000;

class Checkpoint {
 public:
  // A shard is a plain file name. A link out of the folder is refused unless it leads to the blobs
  // of the download cache that the folder belongs to (`<repo>/snapshots/<revision>`). Tensors that
  // the index does not list are ignored; a tensor in another shard than listed is corrupt.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& model_dir,
                                                        DataAccess access = DataAccess::kAligned);

  // Null when there is none of that name.
  const TensorInfo* find(std::string_view name) const;
  // The tensor of that name if it has this type and shape; else not_found, unsupported (type) or
  // corrupt (shape) with file, tensor, got and wanted.
  Result<const TensorInfo*> require(std::string_view name, StoredType type,
                                    std::span<const int64_t> shape) const;

  // Sorted by name.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  // The tensors whose name begins with `prefix`, sorted by name.
  std::span<const TensorInfo> tensors_under(std::string_view prefix) const;
  uint64_t total_bytes() const { return total_bytes_; }
  size_t shard_count() const { return files_.size(); }

  const std::filesystem::path& folder() const { return folder_; }
  // The file that holds the tensor, for messages.
  const std::filesystem::path& file_of(const TensorInfo& tensor) const;

 private:
  Checkpoint() = default;
  Status open_single(const std::filesystem::path& path, DataAccess access);
  Status open_sharded(const std::filesystem::path& index_path, DataAccess access);

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;  // by shard number
  std::vector<TensorInfo> tensors_;
  uint64_t total_bytes_ = 0;
};

}  // namespace moe::io
