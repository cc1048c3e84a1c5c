// Fields of config.json that every family may carry and that do not change what a loaded model
// computes.
#pragma once

#include "io/hf_config.hpp"

namespace moe::model {

// Marks training-only and informational fields as read, so that the rest of unread_keys() are
// fields that a family ought to know.
void ignore_harmless_fields(const io::HfConfig& config);

// Errors: unsupported when "layer_types" names anything but full attention.
Status require_full_attention(const io::HfConfig& config);

}  // namespace moe::model
