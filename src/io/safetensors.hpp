// The safetensors format: 8 bytes of header length, a JSON header, then the tensors' bytes.
// Reading is strict: a file that breaks a rule of the format is refused as corrupt, with file,
// tensor, offset, what was there and what was wanted. Only the header is read; tensor data stays in
// the mapping. Values are immutable after opening and may be read by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/file_map.hpp"
#include "io/stored_type.hpp"
#include "moe/result.hpp"

namespace moe::io {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr size_t kMaxTensorsPerFile = 1'000'000;
inline constexpr size_t kMaxTensorRank = 16;
inline constexpr size_t kMaxTensorNameBytes = 1024;
inline constexpr size_t kMaxMetadataEntries = 65'536;

struct TensorInfo {
  std::string name;
  StoredType type = StoredType::kBf16;
  std::vector<int64_t> shape;  // empty for a scalar
  const std::byte* data = nullptr;
  uint64_t bytes = 0;
  int shard = 0;  // number of its file in the checkpoint
  // Whether `data` is a multiple of the element size. Files whose header length is odd exist.
  bool aligned = true;
};

// What a header says. Tensors are in the order of their data; the tensor pointers point into the
// image that was parsed.
struct SafetensorsHeader {
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<TensorInfo> tensors;
  std::vector<uint32_t> by_name;  // positions in `tensors`, sorted by name
  uint64_t data_begin = 0;        // offset of the data area in the file
};

struct SafetensorsLimits {
  uint64_t header_bytes = kMaxSafetensorsHeaderBytes;
  size_t tensors = kMaxTensorsPerFile;
  size_t rank = kMaxTensorRank;
  size_t name_bytes = kMaxTensorNameBytes;
  size_t metadata_entries = kMaxMetadataEntries;
};

// Parses a whole file image; `source` names it in errors.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> image,
                                            std::string_view source, int shard = 0,
                                            const SafetensorsLimits& limits = {});

enum class DataAccess {
  // Misaligned tensors are copied into aligned memory while opening, so that every TensorInfo can
  // be read as an array of its type. Files with aligned data, nearly all, are not read.
  kAligned,
  // Nothing but the header is read; TensorInfo::aligned may be false. For listings.
  kHeadersOnly,
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path, int shard = 0,
                                      DataAccess access = DataAccess::kAligned);

  const std::filesystem::path& path() const { return map_->path(); }
  // In the order of their data in the file.
  std::span<const TensorInfo> tensors() const { return header_.tensors; }
  const TensorInfo* find(std::string_view name) const;
  std::span<const std::pair<std::string, std::string>> metadata() const { return header_.metadata; }
  // Moves the table out; the file keeps the data alive and answers no more about tensors.
  std::vector<TensorInfo> take_tensors();

 private:
  SafetensorsFile(std::shared_ptr<const FileMap> map, SafetensorsHeader header)
      : map_(std::move(map)), header_(std::move(header)) {}
  Status align_tensors();

  std::shared_ptr<const FileMap> map_;
  std::shared_ptr<const void> aligned_copies_;  // null when nothing was misaligned
  SafetensorsHeader header_;
};

}  // namespace moe::io
