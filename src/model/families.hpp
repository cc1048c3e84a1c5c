// What each family makes of config.json: one function an architecture, in one small file a family.
// All of them are loaded and run by decoder.hpp. Errors: corrupt for values out of range,
// unsupported by name for settings that would change the result and are not done here.
#pragma once

#include "io/hf_config.hpp"
#include "model/config.hpp"

namespace moe::model {

// qwen.cpp: RMSNorm per q and k head; experts in the layers that mlp_only_layers and
// decoder_sparse_step leave to them.
Result<DecoderConfig> configure_qwen3_dense(const io::HfConfig& config);
Result<DecoderConfig> configure_qwen3_moe(const io::HfConfig& config);

// llama.cpp: dense layers, llama3 scaling of the rotary frequencies.
Result<DecoderConfig> configure_llama(const io::HfConfig& config);

// mixtral.cpp: experts in every layer, weights renormalised.
Result<DecoderConfig> configure_mixtral(const io::HfConfig& config);

// olmoe.cpp: experts in every layer, q/k norm over the whole projection.
Result<DecoderConfig> configure_olmoe(const io::HfConfig& config);

// qwen.cpp: biases on q, k and v; a shared expert behind a sigmoid gate.
Result<DecoderConfig> configure_qwen2_moe(const io::HfConfig& config);

// granite_moe.cpp: four multipliers, a softmax over the chosen logits, experts in stacks.
Result<DecoderConfig> configure_granite_moe(const io::HfConfig& config);

// dots1.cpp: q/k norm per head, sigmoid router with correction bias, shared experts.
Result<DecoderConfig> configure_dots1(const io::HfConfig& config);

// glm4_moe.cpp: part of each head rotated, biases on q, k and v, sigmoid router, shared experts.
Result<DecoderConfig> configure_glm4_moe(const io::HfConfig& config);

// ernie4_5_moe.cpp: neighbouring pairs rotated, FP32 softmax router with correction bias.
Result<DecoderConfig> configure_ernie4_5_moe(const io::HfConfig& config);

}  // namespace moe::model
