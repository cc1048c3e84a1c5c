#include "engine/kv_cache.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/checked_math.hpp"
#include "base/errors.hpp"

namespace moe::engine {

BlockPool::BlockPool(int64_t blocks) : total_(blocks) {
  free_.reserve(static_cast<size_t>(blocks));
  for (int64_t block = blocks; block > 0; --block) free_.push_back(static_cast<int32_t>(block - 1));
}

std::vector<int32_t> BlockPool::take(int64_t count) {
  CHECK_LE(count, free_count());
  std::vector<int32_t> blocks;
  blocks.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    blocks.push_back(free_.back());
    free_.pop_back();
  }
  return blocks;
}

void BlockPool::give_back(std::span<const int32_t> blocks) {
  free_.insert(free_.end(), blocks.rbegin(), blocks.rend());
  CHECK_LE(free_count(), total_);
}

Result<KvCache> KvCache::allocate(Device& device, const model::DecoderConfig& config,
                                  int64_t blocks, int64_t block_size) {
  const int64_t row_width = config.attention.kv_heads * config.attention.head_dim;
  const uint64_t factors[] = {static_cast<uint64_t>(blocks), static_cast<uint64_t>(block_size),
                              static_cast<uint64_t>(config.kv_bytes_per_token())};
  const std::optional<uint64_t> bytes = checked_product(factors);
  if (!bytes || blocks > INT32_MAX / block_size) {
    return out_of_memory(fmt::format("a KV cache of {} pages of {} tokens is too large to address",
                                     blocks, block_size),
                         "lower --context");
  }
  KvCache cache(blocks, block_size);
  Result<Buffer> buffer = device.allocate(*bytes);
  if (!buffer.ok()) {
    return out_of_memory(fmt::format("KV cache of {} tokens ({} bytes): {}", blocks * block_size,
                                     *bytes, buffer.error().message),
                         "lower --context");
  }
  cache.buffer_ = std::move(buffer).value();
  const int64_t rows = blocks * block_size;
  auto* next = static_cast<Bf16*>(cache.buffer_.data());
  for (int64_t layer = 0; layer < config.layer_count(); ++layer) {
    const View keys{next, DType::kBf16, rows, row_width, row_width};
    const View values{next + rows * row_width, DType::kBf16, rows, row_width, row_width};
    cache.layers_.push_back({keys, values, block_size});
    next += 2 * rows * row_width;
  }
  return cache;
}

}  // namespace moe::engine
