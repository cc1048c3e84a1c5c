// config.json of a Hugging Face checkpoint: the fields that every model has. A model reads the
// others itself, by key. The rotary embedding's settings are in rope_config.hpp.
// One thread at a time, as ConfigObject.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/config_object.hpp"
#include "io/stored_type.hpp"
#include "moe/result.hpp"

namespace moe::io {

class HfConfig : public ConfigObject {
 public:
  // Reads `config.json` in the folder.
  static Result<HfConfig> load(const std::filesystem::path& model_dir);
  static Result<HfConfig> parse(std::string_view text, std::string source);

  // The first of "architectures", such as "Qwen3MoeForCausalLM"; it must be there.
  Result<std::string> architecture() const;

  // Type of the weights by "dtype" or its older name "torch_dtype"; absent gives nothing. The two
  // must agree.
  Result<std::optional<StoredType>> dtype() const;
};

}  // namespace moe::io
