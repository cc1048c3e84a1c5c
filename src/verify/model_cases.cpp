#include "verify/model_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/errors.hpp"
#include "model/catalogue.hpp"
#include "verify/folder.hpp"
#include "verify/model_expectation.hpp"

namespace moe::verify {
namespace {

// How far logits are from the reference, over all prompts.
struct LogitDeviation {
  double max_abs = 0;
  double sum_of_squares = 0;
  int64_t count = 0;

  void add(const float* got, const float* want, int64_t size) {
    for (int64_t i = 0; i < size; ++i) {
      const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
      // A NaN must not slip through a comparison.
      max_abs = difference <= max_abs ? max_abs : difference;
      sum_of_squares += difference * difference;
    }
    count += size;
  }
  double rms() const { return count == 0 ? 0 : std::sqrt(sum_of_squares / static_cast<double>(count)); }
};

engine::Request greedy(std::vector<int32_t> prompt, int64_t tokens) {
  engine::Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = tokens;
  return request;
}

Status compare_tokens(engine::Engine& engine, const ModelExpectation& expectation, CaseResult& result) {
  for (size_t i = 0; i < expectation.prompts.size(); ++i) {
    const std::vector<int32_t>& wanted = expectation.tokens[i];
    std::vector<engine::Request> requests;
    requests.push_back(greedy(expectation.prompts[i], static_cast<int64_t>(wanted.size())));
    const std::vector<engine::Completion> answers = TRY(engine.generate(std::move(requests)));
    if (answers[0].tokens == wanted) continue;
    result.outcome = Outcome::kFail;
    result.detail = fmt::format("prompt {}: greedy tokens are [{}], wanted [{}]", i,
                                fmt::join(answers[0].tokens, ", "), fmt::join(wanted, ", "));
    return {};
  }
  return {};
}

// Feeds prompt and expected answer as one prompt and compares the logits of every position.
Result<LogitDeviation> logit_deviation(engine::Engine& engine, const ModelExpectation& expectation,
                                       const ModelLogits& logits) {
  LogitDeviation deviation;
  for (size_t i = 0; i < expectation.prompts.size(); ++i) {
    std::vector<int32_t> tokens = expectation.prompts[i];
    tokens.insert(tokens.end(), expectation.tokens[i].begin(), expectation.tokens[i].end());
    if (logits.rows(i) != static_cast<int64_t>(tokens.size()) ||
        logits.vocab() != engine.model().config().vocab_size) {
      return corrupt(fmt::format("logits of prompt {} have shape [{}, {}], wanted [{}, {}]", i,
                                 logits.rows(i), logits.vocab(), tokens.size(),
                                 engine.model().config().vocab_size));
    }
    std::vector<engine::Request> requests;
    requests.push_back(greedy(std::move(tokens), 1));
    requests[0].on_logits = [&](int64_t first, ConstView rows) {
      for (int64_t row = 0; row < rows.rows; ++row) {
        deviation.add(rows.f32_row(row), logits.row(i, first + row), rows.cols);
      }
    };
    TRY(engine.generate(std::move(requests)));
  }
  return deviation;
}

Status run_case(const std::filesystem::path& dir, const engine::EngineOptions& options,
                CaseResult& result) {
  const ModelExpectation expectation = TRY(load_model_expectation(dir));
  const ModelLogits logits =
      TRY(ModelLogits::open(dir / "logits.safetensors", expectation.prompts.size()));
  const auto engine = TRY(engine::Engine::load(dir, options));
  result.outcome = Outcome::kPass;
  TRY(compare_tokens(*engine, expectation, result));
  const LogitDeviation deviation = TRY(logit_deviation(*engine, expectation, logits));
  result.measured = fmt::format("max {:.4f} rms {:.4f}", deviation.max_abs, deviation.rms());
  result.allowed =
      fmt::format("max {:.4f} rms {:.4f}", expectation.max_abs_bound, expectation.rms_bound);
  const bool close = deviation.max_abs <= expectation.max_abs_bound &&
                     deviation.rms() <= expectation.rms_bound && deviation.count > 0;
  if (!close && result.outcome == Outcome::kPass) {
    result.outcome = Outcome::kFail;
    result.detail = "logits are too far from the reference";
  }
  const ops::MoeChain& chain = engine->model().moe_chain();
  if (chain.numerics != options.moe_numerics && engine->model().config().moe.slots > 0) {
    result.outcome = Outcome::kFail;
    result.detail = fmt::format("the expert chain is legacy: {} has no provider on this device",
                                chain.missing.empty() ? "?" : name_of(chain.missing[0]));
  }
  return {};
}

CaseResult timed_case(const std::string& name, const std::filesystem::path& dir,
                      const engine::EngineOptions& options) {
  CaseResult result;
  result.name = name;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = run_case(dir, options, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!status.ok()) {
    result.outcome = Outcome::kFail;
    result.detail = status.error().to_string();
  }
  return result;
}

}  // namespace

Status verify_models(const std::filesystem::path& models_dir, const engine::EngineOptions& options,
                     const std::string& filter, const CaseSink& sink) {
  for (const std::filesystem::path& dir : TRY(sorted_entries(models_dir))) {
    const std::string name = "models/" + dir.filename().string();
    const Result<io::HfConfig> hf = io::HfConfig::load(dir);
    const Result<std::string> architecture = hf.ok() ? hf->architecture() : hf.error();
    if (!architecture.ok()) {
      if (matches(name, filter)) {
        sink({name, Outcome::kFail, {}, {}, architecture.error().to_string(), 0});
      }
      continue;
    }
    if (!model::find_architecture(*architecture).ok()) {
      if (matches(name, filter)) {
        sink({name, Outcome::kSkip, {}, {}, *architecture + " is not supported yet", 0});
      }
      continue;
    }
    const Result<model::DecoderConfig> config = model::load_decoder_config(dir);
    const bool dense = config.ok() && config->moe.slots == 0;
    engine::EngineOptions chain = options;
    for (ops::MoeNumerics numerics : {ops::MoeNumerics::kNative, ops::MoeNumerics::kLegacy}) {
      const bool legacy = numerics == ops::MoeNumerics::kLegacy;
      if (dense && legacy) continue;
      const std::string case_name = dense ? name : name + (legacy ? " legacy" : " native");
      if (!matches(case_name, filter)) continue;
      chain.moe_numerics = numerics;
      sink(timed_case(case_name, dir, chain));
    }
  }
  return {};
}

}  // namespace moe::verify
