#include "model/config_fields.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"

namespace moe::model {
namespace {

constexpr const char* kHarmless[] = {
    "_attn_implementation_autoset",
    "_name_or_path",
    "attention_dropout",
    "auto_map",
    "bos_token_id",
    "chunk_size_feed_forward",
    "dtype",
    "eos_token_id",
    "id2label",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "max_window_layers",  // has a meaning only with a sliding window
    "model_type",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
    "problem_type",
    "return_dict",
    "router_aux_loss_coef",
    "sliding_window",  // likewise
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

}  // namespace

void ignore_harmless_fields(const io::HfConfig& config) {
  for (const char* field : kHarmless) config.ignore(field);
}

Status require_full_attention(const io::HfConfig& config) {
  for (const std::string& type : TRY(config.strings("layer_types"))) {
    if (type == "full_attention") continue;
    return unsupported(
        fmt::format("config.json: layer_types names \"{}\", wanted \"full_attention\"", type),
        "use a checkpoint whose layers all attend to the whole context");
  }
  return {};
}

}  // namespace moe::model
