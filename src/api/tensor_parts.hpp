// Which part of a model a tensor belongs to, by its name in a checkpoint. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moe::api {

enum class TensorPart : uint8_t {
  kEmbedding,
  kAttention,
  kNorms,
  kRouter,
  kExperts,        // chosen per token
  kSharedExperts,  // used by every token
  kDenseMlp,
  kHead,
  kExtraLayers,  // beyond num_hidden_layers, such as multi-token prediction
  kOther,
  kBuffers,  // constants that some files hold; no parameters
};
constexpr int kTensorPartCount = static_cast<int>(TensorPart::kBuffers) + 1;

std::string_view name_of(TensorPart part);

// `layer_count`: layers of the model, if known.
TensorPart part_of(std::string_view tensor, std::optional<int64_t> layer_count);

}  // namespace moe::api
