// Bytes as a safetensors file image, as header and data whose length field is right (mutations
// rarely keep it so), and as a shard index. What is accepted must
// obey the format: the tensors tile the data area and lie in the image.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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

void try_image(std::span<const std::byte> image) {
  const auto header = moe::io::parse_safetensors(image, "fuzz");
  if (header.ok()) {
    check_table(*header, image);
  } else {
    CHECK(!header.error().fix.empty());
  }
}

// The text up to its last '}' as the header, the rest as data.
std::string framed(std::string_view text) {
  const size_t header_bytes = text.rfind('}') + 1;  // 0 without one
  std::string image(8, '\0');
  for (size_t i = 0; i < 8; ++i) image[i] = static_cast<char>(header_bytes >> (8 * i) & 0xff);
  return image.append(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = std::as_bytes(std::span(data, size));
  try_image(image);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string with_length = framed(text);
  try_image(std::as_bytes(std::span(with_length)));
  const auto index = moe::io::parse_shard_index(text, "fuzz");
  if (index.ok()) {
    for (const auto& place : index->places) {
      CHECK_LT(static_cast<size_t>(place.shard), index->files.size());
      CHECK(index->files[static_cast<size_t>(place.shard)].find('/') == std::string::npos);
    }
  }
  return 0;
}
