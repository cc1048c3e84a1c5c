// What is in a checkpoint folder, read from its headers alone: works without loading weights, also
// for architectures that this build cannot run. Plain values, owned by the caller. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "moe/export.h"
#include "moe/result.hpp"

namespace moe {

struct CheckpointInfo {
  struct Part {
    std::string name;  // "embedding", "attention", "norms", "router", "experts", ...
    uint64_t tensors = 0;
    uint64_t parameters = 0;
    uint64_t bytes = 0;
  };
  struct TypeUse {
    std::string type;  // as in the file: "BF16", "F32", ...
    uint64_t tensors = 0;
    uint64_t bytes = 0;
  };
  struct Shard {
    std::string file;
    uint64_t tensors = 0;
    uint64_t bytes = 0;
  };
  struct Tensor {
    std::string name;
    std::string type;
    std::vector<int64_t> shape;
    uint64_t bytes = 0;
    std::string file;
  };

  std::string architecture;  // empty when config.json names none
  bool runs_here = false;    // whether this build can run it; `notes` says why not
  // Fields of config.json that describe the size of the model, with their JSON values.
  std::vector<std::pair<std::string, std::string>> configuration;
  uint64_t parameters = 0;  // elements of all tensors; a tied output head counts once
  // What one token uses: all but the experts that are not chosen and layers beyond the model's.
  std::optional<uint64_t> active_parameters;
  uint64_t bytes = 0;
  bool tied_head = false;
  std::optional<int64_t> kv_bytes_per_token;  // known for architectures that run here
  std::vector<Part> parts;
  std::vector<TypeUse> types;
  std::vector<Shard> shards;
  std::vector<Tensor> largest;  // at most kLargestTensors, largest first
  std::vector<std::string> notes;

  static constexpr size_t kLargestTensors = 10;
};

// Errors: not_found, corrupt (config.json, index, headers).
MOE_API Result<CheckpointInfo> inspect(const std::string& folder);

}  // namespace moe
