// The architectures that this build runs.
#pragma once

#include <span>

#include "model/model.hpp"

namespace moe::model {

std::span<const Architecture> catalogue();
// Errors: unsupported with the names of the catalogue.
Result<const Architecture*> find_architecture(std::string_view name);
// The decoder configuration of a model folder, without its weights.
Result<DecoderConfig> load_decoder_config(const std::filesystem::path& model_dir);

}  // namespace moe::model
