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
      const double difference =
          std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
      // A NaN must not slip through a comparison.
      max_abs = difference <= max_abs ? max_abs : difference;
      sum_of_squares += difference * difference;
    }
    count += size;
  }
  double rms() const {
    return count == 0 ? 0 : std::sqrt(sum_of_squares / static_cast<double>(count));
  }
};

engine::Request greedy(std::vector<int32_t> prompt, int64_t tokens) {
  engine::Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = tokens;
  return request;
}

// How the greedy answers differ from the expected ones, or "".
Result<std::string> token_problem(engine::Engine& engine, const ModelExpectation& expectation) {
  for (size_t i = 0; i < expectation.prompts.size(); ++i) {
    const std::vector<int32_t>& wanted = expectation.tokens[i];
    std::vector<engine::Request> requests;
    requests.push_back(greedy(expectation.prompts[i], static_cast<int64_t>(wanted.size())));
    const std::vector<engine::Completion> answers = TRY(engine.generate(std::move(requests)));
    if (answers[0].tokens == wanted) continue;
    return fmt::format("prompt {}: greedy tokens are [{}], wanted [{}]", i,
                       fmt::join(answers[0].tokens, ", "), fmt::join(wanted, ", "));
  }
  return std::string();
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

// Why the expert chain that ran is not the one asked for, or "".
std::string chain_problem(engine::Engine& engine, ops::MoeNumerics wanted) {
  if (engine.model().config().moe.slots == 0) return {};
  const ops::MoeChain& chain = engine.model().moe_chain();
  if (chain.numerics != wanted) {
    return fmt::format("the expert chain is legacy: {} has no provider on this device",
                       name_of(chain.missing.front()));
  }
  const bool native = wanted == ops::MoeNumerics::kNative;
  const ops::OpId needed[] = {
      ops::OpId::kMoeGroupedGemmBf16GateUpSilu,
      native ? ops::OpId::kMoeGroupedGemmBf16Weighted : ops::OpId::kMoeGroupedGemmBf16,
      native ? ops::OpId::kMoeCombinePreweighted : ops::OpId::kMoeCombine};
  for (ops::OpId op : needed) {
    uint64_t selected = 0;
    uint64_t refused = 0;
    for (const ops::VariantCount& row : engine.op_table().counts()) {
      if (row.op != op) continue;
      selected += row.selected;
      refused += row.fallbacks;
      for (uint64_t count : row.refused) refused += count;
    }
    if (selected == 0 || refused != 0) {
      return fmt::format("{} was selected {} times with {} refusals and fallbacks", name_of(op),
                         selected, refused);
    }
  }
  return {};
}

class ModelCase {
 public:
  ModelCase(std::filesystem::path dir, engine::EngineOptions options)
      : dir_(std::move(dir)), options_(std::move(options)) {}

  CaseResult run(const std::string& name, const std::function<void(engine::Engine&)>& on_engine) {
    const auto begin = std::chrono::steady_clock::now();
    result_.name = name;
    const Status status = run_steps(on_engine);
    if (!status.ok()) fail(status.error().to_string());
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(result_);
  }

 private:
  void fail(const std::string& detail) {
    if (detail.empty()) return;
    result_.outcome = Outcome::kFail;
    if (result_.detail.empty()) result_.detail = detail;
  }

  Status run_steps(const std::function<void(engine::Engine&)>& on_engine) {
    const ModelExpectation expectation = TRY(load_model_expectation(dir_));
    const ModelLogits logits =
        TRY(ModelLogits::open(dir_ / "logits.safetensors", expectation.prompts.size()));
    const auto engine = TRY(engine::Engine::load(dir_, options_));
    result_.outcome = Outcome::kPass;
    fail(TRY(token_problem(*engine, expectation)));
    const LogitDeviation deviation = TRY(logit_deviation(*engine, expectation, logits));
    result_.measured = fmt::format("max {:.4f} rms {:.4f}", deviation.max_abs, deviation.rms());
    result_.allowed =
        fmt::format("max {:.4f} rms {:.4f}", expectation.max_abs_bound, expectation.rms_bound);
    const bool close = deviation.max_abs <= expectation.max_abs_bound &&
                       deviation.rms() <= expectation.rms_bound && deviation.count > 0;
    if (!close) fail("logits are too far from the reference");
    fail(chain_problem(*engine, options_.moe_numerics));
    if (on_engine) on_engine(*engine);
    return {};
  }

  std::filesystem::path dir_;
  engine::EngineOptions options_;
  CaseResult result_;
};

}  // namespace

Status verify_models(const std::filesystem::path& models_dir, const engine::EngineOptions& options,
                     const std::string& filter, const CaseSink& sink,
                     const std::function<void(engine::Engine&)>& on_engine) {
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
      sink(ModelCase(dir, chain).run(case_name, on_engine));
    }
  }
  return {};
}

}  // namespace moe::verify
