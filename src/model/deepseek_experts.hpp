// The expert fields that DeepSeek-V3 introduced and other families took over: a sigmoid router with
// a correction bias and groups, shared experts, dense layers first.
#pragma once

#include "io/hf_config.hpp"
#include "model/config.hpp"

namespace moe::model {

// Sets decoder.moe (not where the scaling factor goes), the dense width and the layers' kinds.
// Returns routed_scaling_factor. `renormalize` is the family's default of norm_topk_prob.
// Errors: corrupt for values out of range; unsupported for another scoring_func or topk_method.
Result<float> configure_deepseek_experts(const io::HfConfig& config, bool renormalize,
                                         DecoderConfig& decoder);

}  // namespace moe::model
