// Settings of the rotary position embedding, from either form of config.json: `rope_theta` with
// `rope_scaling`, or `rope_parameters` that holds both. What the numbers mean is the model's
// business; a field or type that is not known here is refused, since it would change the result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/config_object.hpp"
#include "moe/result.hpp"

namespace moe::io {

enum class RopeType { kDefault, kLinear, kDynamic, kYarn, kLongRope, kLlama3 };

struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  double partial_rotary_factor = 1.0;  // share of the head dimension that is rotated
  std::optional<double> factor;        // present for linear, dynamic, yarn and llama3
  std::optional<int64_t> original_max_position_embeddings;
  std::optional<double> attention_factor;
  std::optional<double> beta_fast;
  std::optional<double> beta_slow;
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  std::optional<bool> truncate;
  std::optional<double> low_freq_factor;   // llama3, present
  std::optional<double> high_freq_factor;  // llama3, present
  std::vector<double> short_factor;        // longrope, not empty
  std::vector<double> long_factor;         // longrope, as many
  std::optional<double> short_mscale;
  std::optional<double> long_mscale;
};

inline constexpr size_t kMaxRopeFactors = 4096;  // half of the largest head dimension

// `default_theta` is the architecture's base when the file gives none.
Result<RopeConfig> rope_config(const ConfigObject& config, double default_theta = 10000.0);

}  // namespace moe::io
