#include "engine/batch.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/checked_math.hpp"

namespace moe::engine {
namespace {

int64_t pages_for(int64_t tokens, int64_t block_size) { return ceil_div(tokens, block_size); }

}  // namespace

Result<BatchBuffers> BatchBuffers::allocate(Device& device, const BatchLimits& limits) {
  BatchBuffers buffers(limits);
  const int64_t ids =
      3 * limits.tokens + 2 * limits.sequences + 1 + limits.sequences * limits.blocks_per_sequence;
  buffers.host_.reserve(static_cast<size_t>(ids));
  buffers.device_ids_ = TRY(device.allocate(static_cast<uint64_t>(ids) * sizeof(int32_t)));
  if (limits.slots_per_token > 0) {
    std::vector<int32_t> map(static_cast<size_t>(limits.tokens * limits.slots_per_token));
    for (size_t pair = 0; pair < map.size(); ++pair) {
      map[pair] = static_cast<int32_t>(static_cast<int64_t>(pair) / limits.slots_per_token);
    }
    buffers.token_of_pair_ = TRY(device.allocate(map.size() * sizeof(int32_t)));
    TRY(device.copy_to_device(buffers.token_of_pair_.data(), map.data(),
                              map.size() * sizeof(int32_t)));
  }
  return buffers;
}

model::BatchView BatchBuffers::planned(const BatchLimits& limits) {
  model::BatchView view;
  view.tokens.size = view.positions.size = view.slots.size = limits.tokens;
  view.query_begin.size = limits.sequences + 1;
  view.context_length.size = limits.sequences;
  view.max_blocks = limits.blocks_per_sequence;
  view.block_tables.size = limits.sequences * limits.blocks_per_sequence;
  view.token_of_pair.size = limits.tokens * limits.slots_per_token;
  return view;
}

Result<model::BatchView> BatchBuffers::upload(Device& device, std::span<const Slice> slices) {
  int64_t tokens = 0;
  int64_t max_blocks = 0;
  for (const Slice& slice : slices) {
    tokens += slice.count;
    max_blocks = std::max(max_blocks, pages_for(slice.end(), limits_.block_size));
  }
  const auto sequences = static_cast<int64_t>(slices.size());
  CHECK_LE(tokens, limits_.tokens);
  CHECK_LE(sequences, limits_.sequences);
  CHECK_LE(max_blocks, limits_.blocks_per_sequence);

  // Layout: tokens, positions, slots, query_begin, context_length, block_tables.
  host_.assign(static_cast<size_t>(3 * tokens + 2 * sequences + 1 + sequences * max_blocks), 0);
  const auto* base = static_cast<const int32_t*>(device_ids_.data());
  int64_t offset = 0;
  const auto part = [&](int64_t size) {
    const Array<const int32_t> array{base + offset, size};
    offset += size;
    return array;
  };
  model::BatchView view;
  view.tokens = part(tokens);
  view.positions = part(tokens);
  view.slots = part(tokens);
  view.query_begin = part(sequences + 1);
  view.context_length = part(sequences);
  view.block_tables = part(sequences * max_blocks);
  view.max_blocks = max_blocks;
  view.token_of_pair = {static_cast<const int32_t*>(token_of_pair_.data()),
                        tokens * limits_.slots_per_token};

  int32_t* host_tokens = host_.data();
  int32_t* host_positions = host_tokens + tokens;
  int32_t* host_slots = host_positions + tokens;
  int32_t* host_query_begin = host_slots + tokens;
  int32_t* host_context = host_query_begin + sequences + 1;
  int32_t* host_tables = host_context + sequences;
  int64_t row = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const Slice& slice = slices[static_cast<size_t>(s)];
    const std::vector<int32_t>& blocks = slice.sequence->blocks;
    host_query_begin[s] = static_cast<int32_t>(row);
    host_context[s] = static_cast<int32_t>(slice.end());
    const int64_t pages = pages_for(slice.end(), limits_.block_size);
    std::copy_n(blocks.begin(), pages, host_tables + s * max_blocks);
    for (int64_t position = slice.begin; position < slice.end(); ++position, ++row) {
      const int64_t block = blocks[static_cast<size_t>(position / limits_.block_size)];
      host_tokens[row] = slice.sequence->tokens()[static_cast<size_t>(position)];
      host_positions[row] = static_cast<int32_t>(position);
      host_slots[row] =
          static_cast<int32_t>(block * limits_.block_size + position % limits_.block_size);
    }
  }
  host_query_begin[sequences] = static_cast<int32_t>(row);
  TRY(device.copy_to_device(device_ids_.data(), host_.data(), host_.size() * sizeof(int32_t)));
  return view;
}

}  // namespace moe::engine
