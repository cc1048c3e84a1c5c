// Bytes as a safetensors file image, and the same bytes as a shard index. What is accepted must
// obey the format: the tensors tile the data area and lie in the image.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "io/safetensors.hpp"
#include "io/shard_index.hpp"

namespace {

void check_table(const moe::io::SafetensorsHeader& header, std::span<const std::byte> image) {
  const std::byte* next = image.data() + header.data_begin;
  unsigned sum = 0;
  for (const auto& tensor : header.tensors) {
    CHECK(tensor.data == next);
    next += tensor.bytes;
    uint64_t elements = 1;
    for (int64_t dimension : tensor.shape) elements *= static_cast<uint64_t>(dimension);
    CHECK_EQ(elements * static_cast<uint64_t>(size_of(tensor.type)), tensor.bytes);
    if (tensor.bytes > 0) sum += static_cast<unsigned>(tensor.data[tensor.bytes - 1]);
  }
  CHECK(next == image.data() + image.size());
  CHECK_EQ(header.by_name.size(), header.tensors.size());
  for (size_t i = 1; i < header.by_name.size(); ++i) {
    CHECK(header.tensors[header.by_name[i - 1]].name < header.tensors[header.by_name[i]].name);
  }
  volatile unsigned keep = sum;
  (void)keep;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = std::as_bytes(std::span(data, size));
  const auto header = moe::io::parse_safetensors(image, "fuzz");
  if (header.ok()) {
    check_table(*header, image);
  } else {
    CHECK(!header.error().fix.empty());
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = moe::io::parse_shard_index(text, "fuzz");
  if (index.ok()) {
    for (const auto& place : index->places) {
      CHECK_LT(static_cast<size_t>(place.shard), index->files.size());
      CHECK(index->files[static_cast<size_t>(place.shard)].find('/') == std::string::npos);
    }
  }
  return 0;
}
