// Verification of whole models: greedy tokens and teacher-forced logits of `models/<name>/`.
#pragma once

#include <filesystem>

#include "engine/engine.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

// One case for each model folder and expert chain (native, legacy; one case for a dense model). An
// architecture that the build does not run is kSkip with its name. `options` names the device.
// Every MoE operation of the chain must have been selected without a refusal or a fallback.
// `on_engine` sees each engine after its case, for counters and memory; may be empty.
// Errors only when the folder cannot be listed; everything else is a failed case.
Status verify_models(const std::filesystem::path& models_dir, const engine::EngineOptions& options,
                     const std::string& filter, const CaseSink& sink,
                     const std::function<void(engine::Engine&)>& on_engine);

}  // namespace moe::verify
