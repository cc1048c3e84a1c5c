#include "api/convert.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/thread_pool.hpp"

namespace moe::api {

Result<providers::OpenOptions> to_open_options(const DeviceOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return invalid_argument(fmt::format("threads is {}, wanted 0 to {} (0 = all allowed cores)",
                                        options.threads, ThreadPool::kMaxThreads),
                            "pass another number of threads, or none");
  }
  providers::OpenOptions open;
  open.threads = options.threads;
  open.cpu_isa = options.cpu_isa;
  open.disabled = options.disabled;
  return open;
}

Result<engine::EngineOptions> to_engine_options(const LoadOptions& options) {
  engine::EngineOptions engine;
  engine.device = options.device;
  engine.device_options = TRY(to_open_options(options.device_options));
  engine.moe_numerics =
      options.numerics == Numerics::kNative ? ops::MoeNumerics::kNative : ops::MoeNumerics::kLegacy;
  engine.context = options.context;
  engine.kv_tokens = options.kv_tokens;
  engine.prefill_chunk = options.prefill_chunk;
  engine.max_sequences = options.max_sequences;
  engine.on_load_progress = options.on_progress;
  return engine;
}

engine::SamplingParams to_engine(const Sampling& sampling, int64_t room) {
  engine::SamplingParams params;
  params.temperature = sampling.temperature;
  params.top_k = sampling.top_k;
  params.top_p = sampling.top_p;
  params.min_p = sampling.min_p;
  params.repetition_penalty = sampling.repetition_penalty;
  params.presence_penalty = sampling.presence_penalty;
  params.frequency_penalty = sampling.frequency_penalty;
  params.logit_bias = sampling.logit_bias;
  params.seed = sampling.seed;
  params.stop = sampling.stop;
  params.stop_token_ids = sampling.stop_token_ids;
  params.include_stop_in_output = sampling.include_stop_in_output;
  params.ignore_eos = sampling.ignore_eos;
  params.skip_special_tokens = sampling.skip_special_tokens;
  params.max_tokens = sampling.max_tokens == 0 ? room : sampling.max_tokens;
  params.min_tokens = sampling.min_tokens;
  params.top_logprobs = sampling.top_logprobs;
  return params;
}

Sampling to_public(const engine::SamplingParams& params) {
  Sampling sampling;
  sampling.temperature = params.temperature;
  sampling.top_k = params.top_k;
  sampling.top_p = params.top_p;
  sampling.min_p = params.min_p;
  sampling.repetition_penalty = params.repetition_penalty;
  sampling.presence_penalty = params.presence_penalty;
  sampling.frequency_penalty = params.frequency_penalty;
  sampling.logit_bias = params.logit_bias;
  sampling.seed = params.seed;
  sampling.stop = params.stop;
  sampling.stop_token_ids = params.stop_token_ids;
  sampling.include_stop_in_output = params.include_stop_in_output;
  sampling.ignore_eos = params.ignore_eos;
  sampling.skip_special_tokens = params.skip_special_tokens;
  sampling.min_tokens = params.min_tokens;
  sampling.top_logprobs = params.top_logprobs;
  return sampling;
}

PositionLogprobs to_public(const engine::PositionLogprobs& logprobs) {
  PositionLogprobs copy;
  copy.drawn = {logprobs.drawn.token, logprobs.drawn.logprob};
  copy.rank = logprobs.rank;
  for (const engine::TokenLogprob& top : logprobs.top) copy.top.push_back({top.token, top.logprob});
  return copy;
}

Completion to_public(engine::Completion completion) {
  Completion copy;
  copy.tokens = std::move(completion.tokens);
  copy.text = std::move(completion.text);
  copy.finish_reason = engine::name_of(completion.reason);
  copy.error = std::move(completion.error);
  copy.stop_text = std::move(completion.stop_text);
  copy.stop_token = completion.stop_token;
  for (const engine::PositionLogprobs& position : completion.logprobs) {
    copy.logprobs.push_back(to_public(position));
  }
  copy.seed = completion.seed;
  copy.prompt_tokens = completion.prompt_tokens;
  copy.prefill_seconds = completion.prefill_seconds;
  copy.decode_seconds = completion.decode_seconds;
  return copy;
}

std::vector<OpCount> to_public(const std::vector<ops::VariantCount>& counts) {
  std::vector<OpCount> rows;
  for (const ops::VariantCount& count : counts) {
    OpCount row;
    row.op = ops::name_of(count.op);
    row.device = count.device;
    row.variant = count.variant;
    row.selected = count.selected;
    row.fallbacks = count.fallbacks;
    for (size_t reason = 0; reason < count.refused.size(); ++reason) {
      if (count.refused[reason] == 0) continue;
      row.refused[std::string(ops::name_of(static_cast<ops::Refusal>(reason)))] =
          count.refused[reason];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace moe::api
