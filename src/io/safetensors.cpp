#include "io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/errors.hpp"

namespace moe::io {
namespace {

constexpr size_t kCopyAlignment = 64;
constexpr size_t kCopyChunkBytes = size_t{8} << 20;

// Copies in pieces and drops each from memory, so that a tensor is not resident twice.
void copy_from_map(const FileMap& map, std::span<const std::byte> src, std::byte* dst) {
  while (!src.empty()) {
    const auto chunk = src.first(std::min(src.size(), kCopyChunkBytes));
    std::memcpy(dst, chunk.data(), chunk.size());
    map.drop_pages(chunk);
    dst += chunk.size();
    src = src.subspan(chunk.size());
  }
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path, int shard,
                                              DataAccess access) {
  auto map = TRY(FileMap::open(path));
  SafetensorsHeader header = TRY(parse_safetensors(map->bytes(), path.string(), shard));
  SafetensorsFile file(std::move(map), std::move(header));
  if (access == DataAccess::kAligned) TRY(file.align_tensors());
  return file;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::lower_bound(
      header_.by_name.begin(), header_.by_name.end(), name,
      [this](uint32_t i, std::string_view wanted) { return header_.tensors[i].name < wanted; });
  if (at == header_.by_name.end() || header_.tensors[*at].name != name) return nullptr;
  return &header_.tensors[*at];
}

std::vector<TensorInfo> SafetensorsFile::take_tensors() {
  header_.by_name.clear();
  return std::exchange(header_.tensors, {});
}

Status SafetensorsFile::align_tensors() {
  // Tensors lie apart in the file, so that this sum is bounded by its size and the padding.
  size_t copied_bytes = 0;
  for (const TensorInfo& tensor : header_.tensors) {
    if (!tensor.aligned) copied_bytes += (tensor.bytes / kCopyAlignment + 1) * kCopyAlignment;
  }
  if (copied_bytes == 0) return {};
  std::shared_ptr<void> memory(std::aligned_alloc(kCopyAlignment, copied_bytes), &std::free);
  if (memory == nullptr) {
    return out_of_memory(
        fmt::format("{}: its data is not aligned and a copy needs {} bytes", path().string(),
                    copied_bytes),
        "save the checkpoint again with a current version of the safetensors library");
  }
  auto* dst = static_cast<std::byte*>(memory.get());
  for (TensorInfo& tensor : header_.tensors) {
    if (tensor.aligned) continue;
    copy_from_map(*map_, {tensor.data, tensor.bytes}, dst);
    tensor.data = dst;
    tensor.aligned = true;
    dst += (tensor.bytes / kCopyAlignment + 1) * kCopyAlignment;
  }
  aligned_copies_ = std::move(memory);
  return {};
}

}  // namespace moe::io
