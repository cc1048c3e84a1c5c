#include "model/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "model/decoder.hpp"
#include "model/families.hpp"

namespace moe::model {
namespace {

constexpr Architecture kArchitectures[] = {
    {"Qwen3MoeForCausalLM", "Qwen3-MoE", &configure_qwen3_moe, &load_decoder, &forward_decoder},
    {"Qwen3ForCausalLM", "Qwen3 (dense)", &configure_qwen3_dense, &load_decoder, &forward_decoder},
    {"LlamaForCausalLM", "Llama 2, 3 (dense)", &configure_llama, &load_decoder, &forward_decoder},
    {"MixtralForCausalLM", "Mixtral", &configure_mixtral, &load_decoder, &forward_decoder},
    {"OlmoeForCausalLM", "OLMoE", &configure_olmoe, &load_decoder, &forward_decoder},
    {"Qwen2MoeForCausalLM", "Qwen2-MoE", &configure_qwen2_moe, &load_decoder, &forward_decoder},
    {"GraniteMoeForCausalLM", "Granite-MoE", &configure_granite_moe, &load_decoder,
     &forward_decoder},
    {"Dots1ForCausalLM", "dots.llm1", &configure_dots1, &load_decoder, &forward_decoder},
    {"Glm4MoeForCausalLM", "GLM-4-MoE", &configure_glm4_moe, &load_decoder, &forward_decoder},
    {"Ernie4_5_MoeForCausalLM", "ERNIE 4.5 MoE", &configure_ernie4_5_moe, &load_decoder,
     &forward_decoder},
};

}  // namespace

std::span<const Architecture> catalogue() { return kArchitectures; }

Result<const Architecture*> find_architecture(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
    known.push_back(architecture.name);
  }
  return unsupported(fmt::format("architecture {} is not supported", name),
                     fmt::format("use a model of one of these: {}", fmt::join(known, ", ")));
}

Result<DecoderConfig> load_decoder_config(const std::filesystem::path& model_dir) {
  const io::HfConfig config = TRY(io::HfConfig::load(model_dir));
  const Architecture* architecture = TRY(find_architecture(TRY(config.architecture())));
  return architecture->configure(config);
}

}  // namespace moe::model
