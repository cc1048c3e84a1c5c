#include "model/rope_table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string_view>

#include "base/errors.hpp"

namespace moe::model {
namespace {

std::string_view name_of(io::RopeType type) {
  switch (type) {
    case io::RopeType::kDefault:
      return "default";
    case io::RopeType::kLinear:
      return "linear";
    case io::RopeType::kDynamic:
      return "dynamic";
    case io::RopeType::kYarn:
      return "yarn";
    case io::RopeType::kLongRope:
      return "longrope";
    case io::RopeType::kLlama3:
      return "llama3";
  }
  return "?";
}

float llama3_frequency(const io::RopeConfig& rope, float frequency) {
  const auto original = static_cast<float>(*rope.original_max_position_embeddings);
  const auto low = static_cast<float>(*rope.low_freq_factor);
  const auto high = static_cast<float>(*rope.high_freq_factor);
  const auto factor = static_cast<float>(*rope.factor);
  const float wave_length = 2 * std::numbers::pi_v<float> / frequency;
  if (wave_length < original / high) return frequency;
  if (wave_length > original / low) return frequency / factor;
  const float smooth = low == high ? 0.0F : (original / wave_length - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

Status check_rope(const io::RopeConfig& rope) {
  if (rope.type == io::RopeType::kDefault) return {};
  if (rope.type != io::RopeType::kLlama3) {
    return unsupported(
        fmt::format("config.json: the rotary embedding is of type {}, wanted default or llama3",
                    name_of(rope.type)),
        "use a checkpoint without rope_scaling");
  }
  if (*rope.low_freq_factor > 0 && *rope.low_freq_factor <= *rope.high_freq_factor &&
      *rope.factor >= 1) {
    return {};
  }
  return corrupt(fmt::format("config.json: llama3 rotary embedding with factor {}, low_freq_factor "
                             "{} and high_freq_factor {}, wanted factor >= 1 and 0 < low <= high",
                             *rope.factor, *rope.low_freq_factor, *rope.high_freq_factor),
                 "restore config.json from its source");
}

std::vector<float> rope_frequencies(const io::RopeConfig& rope, int64_t rotary_dim) {
  const auto theta = static_cast<float>(rope.theta);
  std::vector<float> frequencies(static_cast<size_t>(rotary_dim / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    frequencies[i] = 1.0F / std::pow(theta, exponent);
    if (rope.type == io::RopeType::kLlama3) {
      frequencies[i] = llama3_frequency(rope, frequencies[i]);
    }
  }
  return frequencies;
}

std::vector<Bf16> rope_table(const io::RopeConfig& rope, int64_t rotary_dim, int64_t positions) {
  const int64_t half = rotary_dim / 2;
  const std::vector<float> frequencies = rope_frequencies(rope, rotary_dim);
  std::vector<Bf16> table(static_cast<size_t>(positions * rotary_dim));
  for (int64_t position = 0; position < positions; ++position) {
    Bf16* row = table.data() + position * rotary_dim;
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(i)];
      row[i] = to_bf16(std::cos(angle));
      row[half + i] = to_bf16(std::sin(angle));
    }
  }
  return table;
}

}  // namespace moe::model
