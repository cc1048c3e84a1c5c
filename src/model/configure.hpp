// The part of config.json that all families share, and the checks that go with it. A family's file
// calls configure_decoder() and adds what is its own. Any thread, one configuration at a time.
#pragma once

#include <string>

#include "io/hf_config.hpp"
#include "model/config.hpp"

namespace moe::model {

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxVocab = 1 << 22;
constexpr int64_t kMaxPositions = 1 << 24;

// What a family assumes where config.json says nothing, and what it may say.
struct FamilyTraits {
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
  bool partial_rotary = false;  // reads partial_rotary_factor
  bool tied_embeddings = false;
};

// Sizes, attention and layer count; layers are dense, without biases and q/k norm.
// Errors: corrupt for a value out of range, unsupported by name for a setting that would change
// the result and is not done here.
Result<DecoderConfig> configure_decoder(const io::HfConfig& config, const FamilyTraits& traits);

// "intermediate_size" as the width of the dense layers.
Status configure_dense_width(const io::HfConfig& config, DecoderConfig& decoder);

// Experts in every layer: their count under `experts_field`, their width as "intermediate_size".
Status configure_experts_everywhere(const io::HfConfig& config, const char* experts_field,
                                    DecoderConfig& decoder);

// For families whose attention follows "sliding_window" wherever it is given.
Status refuse_sliding_window(const io::HfConfig& config);

// The error for a setting that is valid and not done here.
Error unsupported_field(const std::string& field, const std::string& got,
                        const std::string& wanted);

// Refuses a boolean that would change the result when true.
Status refuse_flag(const io::HfConfig& config, const char* field);

}  // namespace moe::model
