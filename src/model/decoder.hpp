// The pre-norm decoder that all families of the catalogue share: embedding, layers of attention
// and feed-forward or experts, final norm. What differs between families is in DecoderConfig.
#pragma once

#include "model/model.hpp"

namespace moe::model {

// Errors: not_found, corrupt, unsupported from the checkpoint; corrupt for a bias that is there and
// that config.json does not ask for.
Result<DecoderWeights> load_decoder(WeightLoader& loader, const DecoderConfig& config);
// hidden[t] = the final normed state of each token, [T, H] bf16.
Status forward_decoder(ForwardContext& context, const Model& model,
                       std::span<const ops::KvCacheView> caches, View hidden);

}  // namespace moe::model
