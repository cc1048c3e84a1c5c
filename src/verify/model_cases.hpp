// Verification of whole models: greedy tokens and teacher-forced logits of `models/<name>/`.
#pragma once

#include <filesystem>

#include "engine/engine.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

// One case for each model folder and expert chain (native, legacy; one case for a dense model). An
// architecture that the build does not run is kSkip with its name. `options` names the device.
// Errors only when the folder cannot be listed; everything else is a failed case.
Status verify_models(const std::filesystem::path& models_dir, const engine::EngineOptions& options,
                     const std::string& filter, const CaseSink& sink);

}  // namespace moe::verify
