// The paged key-value cache: device memory for all layers and the pool of its pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.hpp"
#include "ops/attention.hpp"
#include "tensor/device.hpp"

namespace moe::engine {

// Hands out pages by number. A page is owned by one sequence at a time.
class BlockPool {
 public:
  explicit BlockPool(int64_t blocks);

  int64_t total() const { return total_; }
  int64_t free_count() const { return static_cast<int64_t>(free_.size()); }
  // Requires free_count() >= count. The lowest free numbers are not promised.
  std::vector<int32_t> take(int64_t count);
  void give_back(std::span<const int32_t> blocks);

 private:
  int64_t total_;
  std::vector<int32_t> free_;
};

class KvCache {
 public:
  // Errors: out_of_memory with the bytes wanted and the settings that make it smaller.
  static Result<KvCache> allocate(Device& device, const model::DecoderConfig& config,
                                  int64_t blocks, int64_t block_size);

  std::span<const ops::KvCacheView> layers() const { return layers_; }
  BlockPool& pool() { return pool_; }
  int64_t block_size() const { return block_size_; }

 private:
  KvCache(int64_t blocks, int64_t block_size) : pool_(blocks), block_size_(block_size) {}

  Buffer buffer_;
  std::vector<ops::KvCacheView> layers_;
  BlockPool pool_;
  int64_t block_size_;
};

}  // namespace moe::engine
