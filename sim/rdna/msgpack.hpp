// MessagePack bytes to a value tree with limits, for the metadata note of code objects. Takes what
// that note may hold: nil, booleans, integers, strings, arrays and maps with string keys; floats,
// binary and extension types are refused. Threads: pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/json.hpp"
#include "moe/result.hpp"

namespace moe::sim::rdna {

struct MsgpackLimits {
  size_t max_bytes = size_t{16} << 20;
  size_t max_values = size_t{1} << 20;
  size_t max_map_entries = 256;  // keys are looked up one by one
  int max_depth = 16;
};

// The whole of `bytes` must be one value. Errors: corrupt, with `source` and the byte position.
Result<Json> read_msgpack(std::span<const std::byte> bytes, std::string_view source,
                          MsgpackLimits limits = {});

}  // namespace moe::sim::rdna
