// The engine's behaviour as a caller sees it: limits, stop rules, sampling settings, aborts.
#include <cmath>
#include <set>

#include "engine_fixture.hpp"

namespace moe::golden {
namespace {

using engine::Completion;
using engine::EngineOptions;
using engine::FinishReason;
using engine::Request;

std::filesystem::path wordnet() {
  return std::filesystem::path(MOE_SOURCE_DIR) / "models/wordnet-moe";
}

Completion one(engine::Engine& engine, Request request) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  auto answers = engine.generate(std::move(requests));
  EXPECT_TRUE(answers.ok()) << (answers.ok() ? "" : answers.error().to_string());
  return answers.ok() ? std::move(answers.value()[0]) : Completion{};
}

Request question(engine::Engine& engine, const std::string& text) {
  Request request = greedy_request(
      engine.tokenizer()
          ->encode("<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n", false)
          .value(),
      200);
  request.sampling.ignore_eos = false;
  return request;
}

class EngineTest : public ::testing::Test {
 protected:
  static engine::Engine& fixture() {
    static const auto kEngine = load(model_dir("qwen3_moe_fixture"));
    return *kEngine;
  }
  static engine::Engine& words() {
    static const auto kEngine = load(wordnet());
    return *kEngine;
  }
};

TEST_F(EngineTest, StreamedTextEqualsTheWholeAnswer) {
  Request request = question(words(), "Define harbor.");
  std::string streamed;
  std::vector<int32_t> tokens;
  request.on_progress = [&](const engine::Progress& progress) {
    streamed += progress.text;
    tokens.push_back(progress.token);
    return true;
  };
  const Completion answer = one(words(), std::move(request));
  EXPECT_EQ(answer.reason, FinishReason::kStop);
  EXPECT_EQ(answer.text.substr(0, 8), "harbor:\n");
  EXPECT_EQ(streamed, answer.text);
  EXPECT_EQ(tokens, answer.tokens);
  EXPECT_EQ(answer.stop_token, 8191);
}

TEST_F(EngineTest, StopStringEndsTheAnswerAndIsNotShown) {
  Request request = question(words(), "Define harbor.");
  request.sampling.stop = {"(verb)", "shelter"};
  const std::string whole = one(words(), question(words(), "Define harbor.")).text;
  std::string streamed;
  request.on_progress = [&](const engine::Progress& progress) {
    streamed += progress.text;
    return true;
  };
  const Completion answer = one(words(), std::move(request));
  EXPECT_EQ(answer.reason, FinishReason::kStop);
  EXPECT_EQ(answer.stop_text, "shelter");
  EXPECT_EQ(answer.text, whole.substr(0, whole.find("shelter")));
  EXPECT_EQ(streamed, answer.text);

  Request kept = question(words(), "Define harbor.");
  kept.sampling.stop = {"shelter"};
  kept.sampling.include_stop_in_output = true;
  EXPECT_EQ(one(words(), std::move(kept)).text, answer.text + "shelter");
}

TEST_F(EngineTest, StopTokenAndMaximumEndTheAnswer) {
  const Completion free = one(fixture(), greedy_request({41, 58, 75}, 8));
  EXPECT_EQ(free.reason, FinishReason::kLength);
  ASSERT_EQ(free.tokens.size(), 8u);
  Request request = greedy_request({41, 58, 75}, 8);
  request.sampling.stop_token_ids = {free.tokens[3]};
  const Completion stopped = one(fixture(), std::move(request));
  EXPECT_EQ(stopped.reason, FinishReason::kStop);
  EXPECT_EQ(stopped.tokens, std::vector<int32_t>(free.tokens.begin(), free.tokens.begin() + 4));
}

TEST_F(EngineTest, MinimumTokensBansEndAndStopTokens) {
  const Completion free = one(fixture(), greedy_request({41, 58, 75}, 8));
  Request request = greedy_request({41, 58, 75}, 8);
  request.sampling.stop_token_ids = {free.tokens[0]};
  request.sampling.min_tokens = 3;
  const Completion answer = one(fixture(), std::move(request));
  EXPECT_GE(answer.tokens.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(answer.tokens[i], free.tokens[0]);
}

TEST_F(EngineTest, LogitBiasForcesAndBansTokens) {
  const Completion free = one(fixture(), greedy_request({12}, 4));
  Request forced = greedy_request({12}, 4);
  forced.sampling.logit_bias = {{99, 100.0F}};
  EXPECT_EQ(one(fixture(), std::move(forced)).tokens, std::vector<int32_t>(4, 99));
  Request banned = greedy_request({12}, 4);
  banned.sampling.logit_bias = {{free.tokens[0], -100.0F}};
  EXPECT_NE(one(fixture(), std::move(banned)).tokens[0], free.tokens[0]);
}

TEST_F(EngineTest, FrequencyPenaltyEndsRepetition) {
  // This prompt's greedy answer repeats tokens (see expect.json).
  const auto engine = load(model_dir("qwen3_moe_varied"));
  Request plain = greedy_request({12}, 8);
  Request penalised = greedy_request({12}, 8);
  penalised.sampling.frequency_penalty = 2;
  penalised.sampling.presence_penalty = 2;
  penalised.sampling.repetition_penalty = 5;
  const auto distinct = [](const Completion& answer) {
    return std::set<int32_t>(answer.tokens.begin(), answer.tokens.end()).size();
  };
  EXPECT_LT(distinct(one(*engine, std::move(plain))), 8u);
  EXPECT_EQ(distinct(one(*engine, std::move(penalised))), 8u);
}

TEST_F(EngineTest, LogprobsAreNormalisedAndRanked) {
  Request request = greedy_request({41, 58, 75}, 4);
  request.sampling.top_logprobs = 5;
  std::vector<uint32_t> bits;
  record_logits(request, bits);
  const Completion answer = one(fixture(), std::move(request));
  ASSERT_EQ(answer.logprobs.size(), 4u);
  const size_t vocab = 128;
  for (size_t i = 0; i < 4; ++i) {
    const engine::PositionLogprobs& position = answer.logprobs[i];
    EXPECT_EQ(position.rank, 1);
    EXPECT_EQ(position.drawn.token, answer.tokens[i]);
    ASSERT_EQ(position.top.size(), 5u);
    EXPECT_EQ(position.top[0].token, answer.tokens[i]);
    // Recomputed in double from the logits of the position before.
    double sum = 0;
    const size_t row = (2 + i) * vocab;
    for (size_t v = 0; v < vocab; ++v) sum += std::exp(double{std::bit_cast<float>(bits[row + v])});
    for (const engine::TokenLogprob& entry : position.top) {
      const double logit = std::bit_cast<float>(bits[row + static_cast<size_t>(entry.token)]);
      EXPECT_NEAR(entry.logprob, logit - std::log(sum), 1e-4);
    }
  }
}

TEST_F(EngineTest, ZeroTopLogprobsStillGivesTheDrawnOne) {
  Request request = greedy_request({41}, 2);
  request.sampling.top_logprobs = 0;
  const Completion answer = one(fixture(), std::move(request));
  ASSERT_EQ(answer.logprobs.size(), 2u);
  EXPECT_TRUE(answer.logprobs[0].top.empty());
  EXPECT_EQ(answer.logprobs[0].drawn.token, answer.tokens[0]);
}

TEST_F(EngineTest, CallbackCanEndARequestWithoutHarmToOthers) {
  const Completion expected = one(fixture(), greedy_request({70, 87}, 8));
  std::vector<Request> requests;
  requests.push_back(greedy_request({41, 58, 75}, 50));
  int seen = 0;
  requests[0].on_progress = [&](const engine::Progress&) { return ++seen < 3; };
  requests.push_back(greedy_request({70, 87}, 8));
  const auto answers = fixture().generate(std::move(requests)).value();
  EXPECT_EQ(answers[0].reason, FinishReason::kAbort);
  EXPECT_EQ(answers[0].tokens.size(), 3u);
  EXPECT_EQ(answers[1].tokens, expected.tokens);
  EXPECT_TRUE(fixture().idle());
}

TEST_F(EngineTest, PromptAtTheContextLimitIsRefusedWithNumbersAndOneBelowGivesOneToken) {
  EngineOptions options;
  options.context = 32;
  const auto engine = load(model_dir("qwen3_moe_fixture"), options);
  const auto refused = engine->submit(greedy_request(made_prompt(32, 128), 4));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("32 tokens"), std::string::npos)
      << refused.error().message;
  const Completion answer = one(*engine, greedy_request(made_prompt(31, 128), 4));
  EXPECT_EQ(answer.reason, FinishReason::kLength);
  EXPECT_EQ(answer.tokens.size(), 1u);
}

TEST_F(EngineTest, RequestsWaitForPagesAndAllFinishWithTheirSoloTokens) {
  EngineOptions options;
  options.kv_tokens = 64;  // room for one or two at a time
  options.context = 64;
  const auto engine = load(model_dir("qwen3_moe_fixture"), options);
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t i = 0; i < 9; ++i) prompts.push_back(made_prompt(5 + 4 * i, 128, i));
  const std::vector<Trace> together = trace(*engine, prompts, 12);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_TRUE(together[i] == trace(fixture(), {prompts[i]}, 12)[0]) << i;
  }
  const auto too_long = engine->submit(greedy_request(made_prompt(5, 128), 1000));
  EXPECT_TRUE(too_long.ok());  // capped to the context, which fits
}

TEST_F(EngineTest, BadRequestsNameTheFieldAndTheRange) {
  const auto error_of = [&](Request request) {
    const auto result = fixture().submit(std::move(request));
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().to_string();
  };
  EXPECT_NE(error_of(greedy_request({}, 4)).find("prompt is empty"), std::string::npos);
  EXPECT_NE(error_of(greedy_request({5, 128}, 4)).find("prompt token 1 has id 128"),
            std::string::npos);
  EXPECT_NE(error_of(greedy_request({-1}, 4)).find("id -1"), std::string::npos);
  const auto with = [&](auto change) {
    Request request = greedy_request({5}, 4);
    change(request.sampling);
    return error_of(std::move(request));
  };
  const float nan = std::nanf("");
  using P = engine::SamplingParams;
  EXPECT_NE(with([](P& p) { p.temperature = 2.01F; }).find("temperature"), std::string::npos);
  EXPECT_NE(with([&](P& p) { p.temperature = nan; }).find("temperature"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.top_k = -2; }).find("top_k"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.top_p = 0; }).find("top_p"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.top_p = 1.01F; }).find("top_p"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.min_p = -0.1F; }).find("min_p"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.repetition_penalty = 0; }).find("repetition_penalty"),
            std::string::npos);
  EXPECT_NE(with([](P& p) { p.presence_penalty = 2.1F; }).find("presence_penalty"),
            std::string::npos);
  EXPECT_NE(with([](P& p) { p.frequency_penalty = -2.1F; }).find("frequency_penalty"),
            std::string::npos);
  EXPECT_NE(with([](P& p) { p.max_tokens = 0; }).find("max_tokens"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.min_tokens = 5; }).find("min_tokens"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.top_logprobs = 21; }).find("top_logprobs"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.logit_bias = {{128, 1.0F}}; }).find("logit_bias"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.logit_bias = {{1, 100.5F}}; }).find("logit_bias"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.stop_token_ids = {-1}; }).find("stop_token_ids"), std::string::npos);
  EXPECT_NE(with([](P& p) { p.stop = {"x"}; }).find("tokenizer"), std::string::npos);
  EXPECT_TRUE(fixture().idle());
}

TEST_F(EngineTest, BadOptionsNameTheOption) {
  const auto error_of = [](auto change) {
    EngineOptions options;
    change(options);
    const auto result = engine::Engine::load(model_dir("qwen3_moe_fixture"), options);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().to_string();
  };
  using O = EngineOptions;
  EXPECT_NE(error_of([](O& o) { o.prefill_chunk = 0; }).find("prefill-chunk"), std::string::npos);
  EXPECT_NE(error_of([](O& o) { o.prefill_chunk = O::kMaxPrefillChunk + 1; }).find("prefill-chunk"),
            std::string::npos);
  EXPECT_NE(error_of([](O& o) { o.max_sequences = 0; }).find("max-sequences"), std::string::npos);
  EXPECT_NE(error_of([](O& o) { o.context = 257; }).find("context is 257, wanted 1 to 256"),
            std::string::npos);
  EXPECT_NE(error_of([](O& o) { o.device = "toaster"; }).find("toaster"), std::string::npos);
  EXPECT_NE(error_of([](O& o) { o.device_options.cpu_isa = "mmx"; }).find("mmx"),
            std::string::npos);
}

TEST_F(EngineTest, MissingFolderAndForeignArchitectureAreExplained) {
  const auto missing = engine::Engine::load("/no/such/folder", {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace moe::golden
