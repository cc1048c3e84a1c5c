#include "engine/sampler.hpp"

#include <algorithm>

#include "base/checked_math.hpp"

namespace moe::engine {
namespace {

// Places arrays one after another in a device buffer whose size is found first.
class Layout {
 public:
  uint64_t place(int64_t count, uint64_t element_bytes) {
    const uint64_t begin = bytes_;
    bytes_ = round_up<uint64_t>(bytes_ + static_cast<uint64_t>(count) * element_bytes, 64);
    return begin;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

int32_t most_logprobs(std::span<Sequence* const> sequences) {
  int32_t most = 0;
  for (const Sequence* sequence : sequences) {
    // One at least wherever they are asked for: the drawn token's own value comes with the list.
    const auto& wanted = sequence->request().sampling.top_logprobs;
    if (wanted) most = std::max(most, std::max(*wanted, 1));
  }
  return most;
}

template <class T>
Status fetch(Device& device, std::vector<T>& host, const T* data) {
  return device.copy_to_host(host.data(), data, host.size() * sizeof(T));
}

}  // namespace

Result<std::byte*> Sampler::room(uint64_t bytes) {
  if (buffer_.bytes() < bytes) {
    buffer_ = {};
    buffer_ = TRY(device_.allocate(bytes));
  }
  return static_cast<std::byte*>(buffer_.data());
}

Result<std::vector<Draw>> Sampler::draw(ops::OpRunner& runner, ConstView logits,
                                        std::span<Sequence* const> sequences) {
  const auto count = static_cast<int64_t>(sequences.size());
  std::vector<ops::SampleRow> rows;
  std::vector<ops::LogitEdit> edits;
  for (const Sequence* sequence : sequences) {
    ops::SampleRow row = sequence->sample_row();
    row.edit_begin = static_cast<int32_t>(edits.size());
    sequence->append_edits(edits);
    row.edit_end = static_cast<int32_t>(edits.size());
    rows.push_back(row);
  }
  const int32_t top = most_logprobs(sequences);
  const int64_t entries = top > 0 ? count * (top + 1) : 0;
  const auto edit_count = static_cast<int64_t>(edits.size());

  Layout layout;
  const uint64_t rows_at = layout.place(count, sizeof(ops::SampleRow));
  const uint64_t edits_at = layout.place(edit_count, sizeof(ops::LogitEdit));
  const uint64_t tokens_at = layout.place(count, sizeof(int32_t));
  const uint64_t logprob_tokens_at = layout.place(entries, sizeof(int32_t));
  const uint64_t logprobs_at = layout.place(entries, sizeof(float));
  const uint64_t ranks_at = layout.place(top > 0 ? count : 0, sizeof(int32_t));
  std::byte* base = TRY(room(layout.bytes()));
  TRY(device_.copy_to_device(base + rows_at, rows.data(), rows.size() * sizeof(ops::SampleRow)));
  TRY(device_.copy_to_device(base + edits_at, edits.data(), edits.size() * sizeof(ops::LogitEdit)));

  ops::SampleTokens sample;
  sample.logits = logits;
  sample.rows = {reinterpret_cast<const ops::SampleRow*>(base + rows_at), count};
  sample.edits = {reinterpret_cast<const ops::LogitEdit*>(base + edits_at), edit_count};
  sample.tokens = {reinterpret_cast<int32_t*>(base + tokens_at), count};
  sample.top_logprobs = top;
  if (top > 0) {
    sample.logprob_tokens = {reinterpret_cast<int32_t*>(base + logprob_tokens_at), entries};
    sample.logprobs = {reinterpret_cast<float*>(base + logprobs_at), entries};
    sample.ranks = {reinterpret_cast<int32_t*>(base + ranks_at), count};
  }
  TRY(runner.run(sample));

  std::vector<int32_t> tokens(static_cast<size_t>(count));
  TRY(fetch(device_, tokens, sample.tokens.data));
  std::vector<int32_t> logprob_tokens(static_cast<size_t>(entries));
  std::vector<float> logprobs(static_cast<size_t>(entries));
  std::vector<int32_t> ranks(top > 0 ? static_cast<size_t>(count) : 0);
  if (top > 0) {
    TRY(fetch(device_, logprob_tokens, sample.logprob_tokens.data));
    TRY(fetch(device_, logprobs, sample.logprobs.data));
    TRY(fetch(device_, ranks, sample.ranks.data));
  }
  std::vector<Draw> draws;
  for (size_t s = 0; s < sequences.size(); ++s) {
    Draw draw{tokens[s], std::nullopt};
    const auto& wanted = sequences[s]->request().sampling.top_logprobs;
    if (wanted) {
      const size_t first = s * static_cast<size_t>(top + 1);
      PositionLogprobs position{{logprob_tokens[first], logprobs[first]}, ranks[s], {}};
      for (size_t i = 1; i <= static_cast<size_t>(*wanted); ++i) {
        position.top.push_back({logprob_tokens[first + i], logprobs[first + i]});
      }
      draw.logprobs = std::move(position);
    }
    draws.push_back(std::move(draw));
  }
  return draws;
}

}  // namespace moe::engine
