// Between the public values of moe/moe.hpp and the engine's own. Pure functions.
#pragma once

#include "engine/engine.hpp"
#include "moe/moe.hpp"

namespace moe::api {

// Errors: invalid_argument for thread counts out of range.
Result<providers::OpenOptions> to_open_options(const DeviceOptions& options);
Result<engine::EngineOptions> to_engine_options(const LoadOptions& options);

// `room`: what max_tokens = 0 stands for, at least 1.
engine::SamplingParams to_engine(const Sampling& sampling, int64_t room);
Sampling to_public(const engine::SamplingParams& sampling);
PositionLogprobs to_public(const engine::PositionLogprobs& logprobs);
Completion to_public(engine::Completion completion);
std::vector<OpCount> to_public(const std::vector<ops::VariantCount>& counts);

}  // namespace moe::api
