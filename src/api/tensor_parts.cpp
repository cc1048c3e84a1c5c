#include "api/tensor_parts.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace moe::api {
namespace {

using Components = std::vector<std::string_view>;

Components split(std::string_view name) {
  Components components;
  while (true) {
    const size_t dot = name.find('.');
    components.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return components;
    name.remove_prefix(dot + 1);
  }
}

bool has(const Components& components, std::initializer_list<std::string_view> wanted) {
  return std::any_of(components.begin(), components.end(), [&](std::string_view component) {
    return std::find(wanted.begin(), wanted.end(), component) != wanted.end();
  });
}

bool any_contains(const Components& components, std::string_view part) {
  return std::any_of(components.begin(), components.end(), [&](std::string_view component) {
    return component.find(part) != std::string_view::npos;
  });
}

// The number after "layers"; -1 when there is none.
int64_t layer_of(const Components& components) {
  for (size_t i = 0; i + 1 < components.size(); ++i) {
    if (components[i] != "layers" && components[i] != "h") continue;
    const std::string_view digits = components[i + 1];
    int64_t layer = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
    if (error == std::errc() && end == digits.data() + digits.size()) return layer;
  }
  return -1;
}

// Inside a feed-forward block.
TensorPart feed_forward_part(const Components& components) {
  if (has(components, {"shared_expert", "shared_experts", "shared_mlp", "shared_expert_gate"})) {
    return TensorPart::kSharedExperts;
  }
  // The gate of a block is its router; the gate projection of an expert is "gate_proj".
  if (has(components,
          {"router", "gate", "expert_bias", "e_score_correction_bias", "moe_statics"}) &&
      !has(components, {"experts"})) {
    return TensorPart::kRouter;
  }
  if (has(components, {"experts", "input_linear", "output_linear"})) return TensorPart::kExperts;
  return TensorPart::kDenseMlp;
}

}  // namespace

std::string_view name_of(TensorPart part) {
  switch (part) {
    case TensorPart::kEmbedding:
      return "embedding";
    case TensorPart::kAttention:
      return "attention";
    case TensorPart::kNorms:
      return "norms";
    case TensorPart::kRouter:
      return "router";
    case TensorPart::kExperts:
      return "experts";
    case TensorPart::kSharedExperts:
      return "shared experts";
    case TensorPart::kDenseMlp:
      return "dense MLP";
    case TensorPart::kHead:
      return "head";
    case TensorPart::kExtraLayers:
      return "extra layers";
    case TensorPart::kOther:
      return "other";
    case TensorPart::kBuffers:
      return "buffers";
  }
  return "?";
}

TensorPart part_of(std::string_view tensor, std::optional<int64_t> layer_count) {
  const Components components = split(tensor);
  if (components.back() == "inv_freq") return TensorPart::kBuffers;
  const int64_t layer = layer_of(components);
  if (layer_count && layer >= *layer_count) return TensorPart::kExtraLayers;
  if (layer < 0) {
    if (has(components, {"embed_tokens", "wte", "tok_embeddings", "word_embeddings"})) {
      return TensorPart::kEmbedding;
    }
    if (has(components, {"lm_head", "output", "embed_out"})) return TensorPart::kHead;
  }
  if (any_contains(components, "norm")) return TensorPart::kNorms;
  if (has(components, {"mlp", "feed_forward", "block_sparse_moe", "ffn", "moe", "shared_mlp"})) {
    return feed_forward_part(components);
  }
  if (any_contains(components, "attn") || has(components, {"attention", "conv"})) {
    return TensorPart::kAttention;
  }
  return TensorPart::kOther;
}

}  // namespace moe::api
