// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"

namespace moe::io {

struct ShardIndex {
  struct Place {
    std::string tensor;
    int shard = 0;  // position in `files`
  };
  std::vector<std::string> files;  // plain file names, sorted
  std::vector<Place> places;       // sorted by tensor, each name once
};

inline constexpr size_t kMaxCheckpointTensors = 2'000'000;
inline constexpr size_t kMaxShards = 4096;

struct ShardIndexLimits {
  size_t tensors = kMaxCheckpointTensors;
  size_t shards = kMaxShards;
};

// `source` names the text in errors. `metadata` and other keys beside `weight_map` are not read:
// the total size in published files is often wrong.
Result<ShardIndex> parse_shard_index(std::string_view text, std::string_view source,
                                     const ShardIndexLimits& limits = {});

}  // namespace moe::io
