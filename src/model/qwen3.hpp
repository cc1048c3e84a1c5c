// Qwen3 and Qwen3-MoE: pre-norm decoder, grouped-query attention with q/k norm per head, RoPE,
// SwiGLU; experts with a softmax router in the layers that mlp_only_layers and
// decoder_sparse_step leave to them.
#pragma once

#include "model/model.hpp"

namespace moe::model {

Result<DecoderConfig> configure_qwen3_moe(const io::HfConfig& config);
Result<DecoderConfig> configure_qwen3_dense(const io::HfConfig& config);
Result<DecoderWeights> load_qwen3(WeightLoader& loader, const DecoderConfig& config);
Status forward_qwen3(ForwardContext& context, const Model& model,
                     std::span<const ops::KvCacheView> caches, View hidden);

}  // namespace moe::model
