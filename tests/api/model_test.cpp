// The public C++ API on the bundled model and a reference model, through libmoe.so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "moe/inspect.hpp"
#include "moe/moe.hpp"

namespace moe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string wordnet() { return (fs::path(MOE_SOURCE_DIR) / "models/wordnet-moe").string(); }
std::string fixture() {
  return (fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/models/qwen3_moe_fixture").string();
}

Model load(const std::string& folder, const LoadOptions& options = {}) {
  Result<Model> model = Model::load(folder, options);
  if (!model.ok()) throw std::runtime_error(model.error().to_string());
  return std::move(model).value();
}

Request question(const Model& model, const std::string& text) {
  const ChatMessage message{"user", text};
  Request request;
  request.prompt = model.chat_prompt({&message, 1}).value();
  request.sampling = model.default_sampling();
  return request;
}

TEST(ModelApi, InfoDescribesTheLoadedModel) {
  uint64_t last_done = 0;
  uint64_t last_total = 1;
  LoadOptions options;
  options.on_progress = [&](uint64_t done, uint64_t total) {
    last_done = done;
    last_total = total;
  };
  options.context = 100;
  const Model model = load(wordnet(), options);
  const ModelInfo& info = model.info();
  EXPECT_EQ(info.architecture, "Qwen3MoeForCausalLM");
  EXPECT_EQ(info.parameters, inspect(wordnet())->parameters);
  EXPECT_EQ(info.vocab_size, 8192);
  EXPECT_EQ(info.context, 100);
  EXPECT_EQ(info.experts, 16);
  EXPECT_EQ(info.experts_per_token, 2);
  EXPECT_EQ(info.expert_numerics, "native");
  EXPECT_TRUE(info.missing_ops.empty());
  EXPECT_TRUE(info.has_tokenizer);
  EXPECT_TRUE(info.has_chat_template);
  EXPECT_THAT(info.eos_token_ids, testing::ElementsAre(8191, 8189));
  EXPECT_EQ(last_done, last_total);
  EXPECT_EQ(model.default_sampling().temperature, 0);
  EXPECT_EQ(model.default_sampling().max_tokens, 256);
}

TEST(ModelApi, StreamedTextIsTheWholeText) {
  Model model = load(wordnet());
  Request request = question(model, "Define harbor.");
  std::string streamed;
  std::vector<int32_t> tokens;
  request.on_piece = [&](const Piece& piece) {
    streamed += piece.text;
    tokens.push_back(piece.token);
    return true;
  };
  const Completion completion = model.generate(std::move(request)).value();
  EXPECT_THAT(completion.text, testing::StartsWith("harbor:\n1. (noun)"));
  EXPECT_EQ(streamed, completion.text);
  EXPECT_EQ(tokens, completion.tokens);
  EXPECT_EQ(completion.finish_reason, "stop");
  EXPECT_EQ(completion.stop_token, 8191);
  EXPECT_EQ(completion.prompt_tokens, 12);
}

TEST(ModelApi, SeveralRequestsGiveWhatEachGivesAlone) {
  Model model = load(wordnet());
  const std::vector<std::string> texts = {"Define harbor.", "What does \"gravity\" mean?"};
  std::vector<Request> requests;
  for (const std::string& text : texts) {
    requests.push_back(question(model, text));
    requests.back().sampling.temperature = 1;
    requests.back().sampling.seed = 7;
  }
  const std::vector<Completion> together = model.generate(requests).value();
  ASSERT_EQ(together.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(model.generate(requests[i]).value().tokens, together[i].tokens);
    EXPECT_EQ(together[i].seed, 7u);
  }
  EXPECT_NE(together[0].tokens, together[1].tokens);
}

TEST(ModelApi, CallbacksEndTheirOwnRequest) {
  Model model = load(wordnet());
  std::vector<Request> requests = {question(model, "Define harbor."),
                                   question(model, "Define harbor.")};
  int pieces = 0;
  requests[1].on_piece = [&](const Piece& piece) {
    EXPECT_EQ(piece.request, 1u);
    return ++pieces < 3;
  };
  const std::vector<Completion> completions = model.generate(std::move(requests)).value();
  EXPECT_EQ(completions[0].finish_reason, "stop");
  EXPECT_EQ(completions[1].finish_reason, "abort");
  EXPECT_EQ(completions[1].tokens.size(), 3u);
}

TEST(ModelApi, KeepGoingEndsEverything) {
  Model model = load(wordnet());
  int steps = 0;
  const Completion completion =
      model.generate(question(model, "Define harbor."), [&] { return ++steps < 5; }).value();
  EXPECT_EQ(completion.finish_reason, "abort");
  EXPECT_LE(completion.tokens.size(), 5u);
  EXPECT_EQ(
      model.generate(question(model, "Define harbor."), [] { return false; }).value().tokens.size(),
      0u);
  // The model is as good as before.
  EXPECT_EQ(model.generate(question(model, "Define harbor.")).value().finish_reason, "stop");
}

TEST(ModelApi, LogitsAndLogprobsAgree) {
  Model model = load(fixture());
  Request request;
  request.prompt = {1, 2, 3};
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = 4;
  request.sampling.top_logprobs = 2;
  std::vector<std::vector<float>> rows;
  request.on_logits = [&](const LogitRows& logits) {
    EXPECT_EQ(logits.first_position, static_cast<int64_t>(rows.size()));
    const auto vocab = static_cast<size_t>(logits.vocab_size);
    for (size_t at = 0; at < logits.values.size(); at += vocab) {
      const auto row = logits.values.subspan(at, vocab);
      rows.emplace_back(row.begin(), row.end());
    }
  };
  const Completion completion = model.generate(std::move(request)).value();
  ASSERT_EQ(rows.size(), 3u + 4u - 1u);
  ASSERT_EQ(completion.logprobs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<float>& row = rows[2 + i];
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit));
    const PositionLogprobs& position = completion.logprobs[i];
    EXPECT_EQ(position.drawn.token, completion.tokens[i]);
    EXPECT_NEAR(position.drawn.logprob,
                row[static_cast<size_t>(completion.tokens[i])] - std::log(sum), 1e-3);
    EXPECT_EQ(position.top.size(), 2u);
  }
}

TEST(ModelApi, OpCountersShowTheNativeChainAndCanBeReset) {
  Model model = load(fixture());
  Request request;
  request.prompt = {1, 2, 3};
  request.sampling.max_tokens = 2;
  ASSERT_TRUE(model.generate(request).ok());
  const auto selected = [&](const std::string& op) {
    uint64_t total = 0;
    for (const OpCount& row : model.op_counts()) {
      EXPECT_FALSE(row.device.empty());
      if (row.op == op) total += row.selected;
    }
    return total;
  };
  EXPECT_GT(selected("kMoeGroupedGemmBf16GateUpSilu"), 0u);
  EXPECT_GT(selected("kMoeGroupedGemmBf16Weighted"), 0u);
  EXPECT_TRUE(model.chain_refusals().empty());
  model.reset_op_counts();
  EXPECT_EQ(selected("kMoeGroupedGemmBf16GateUpSilu"), 0u);
}

TEST(ModelApi, WithoutOneExpertOperationTheChainIsLegacyAndSaysWhy) {
  LoadOptions options;
  options.device_options.disabled = {"kMoeGroupedGemmBf16Weighted"};
  Model model = load(fixture(), options);
  EXPECT_EQ(model.info().expert_numerics, "legacy");
  EXPECT_THAT(model.info().missing_ops, testing::ElementsAre("kMoeGroupedGemmBf16Weighted"));
  ASSERT_EQ(model.chain_refusals().size(), 1u);
  EXPECT_EQ(model.chain_refusals()[0].op, "kMoeGroupedGemmBf16Weighted");
  options.device_options.disabled.clear();
  options.numerics = Numerics::kLegacy;
  EXPECT_EQ(load(fixture(), options).info().expert_numerics, "legacy");
  EXPECT_TRUE(load(fixture(), options).info().missing_ops.empty());
}

TEST(ModelApi, TextGoesThereAndBack) {
  const Model model = load(wordnet());
  const std::vector<int32_t> ids = model.tokenize("Define harbor.").value();
  EXPECT_EQ(model.detokenize(ids).value(), "Define harbor.");
  TokenizeOptions plain;
  plain.parse_special_tokens = false;
  EXPECT_EQ(model.tokenize("<|im_end|>").value().size(), 1u);
  EXPECT_GT(model.tokenize("<|im_end|>", plain).value().size(), 1u);
  EXPECT_EQ(model.detokenize(std::vector<int32_t>{8191}).value(), "");
  EXPECT_EQ(model.detokenize(std::vector<int32_t>{8191}, false).value(), "<|im_end|>");
}

TEST(ModelApi, ChatPromptsOfMessagesAndJsonAgree) {
  const Model model = load(wordnet());
  const ChatMessage message{"user", "hi"};
  const auto ids = model.chat_prompt({&message, 1}).value();
  EXPECT_EQ(model.chat_prompt_json(R"([{"role":"user","content":"hi"}])").value(), ids);
  ChatOptions options;
  options.add_generation_prompt = false;
  EXPECT_LT(model.chat_prompt({&message, 1}, options)->size(), ids.size());
  options.variables_json = "[";
  EXPECT_FALSE(model.chat_prompt({&message, 1}, options).ok());
  EXPECT_FALSE(model.chat_prompt_json("{").ok());
}

TEST(ModelApi, ErrorsAreValuesWithAFix) {
  const Result<Model> missing = Model::load("/nonexistent");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(missing.error().fix.empty());

  LoadOptions options;
  options.device_options.threads = 257;
  EXPECT_EQ(Model::load(fixture(), options).error().code, ErrorCode::kInvalidArgument);
  options.device_options.threads = 256;
  options.prefill_chunk = 0;
  EXPECT_EQ(Model::load(fixture(), options).error().code, ErrorCode::kInvalidArgument);

  Model model = load(fixture());
  EXPECT_FALSE(model.info().has_tokenizer);
  EXPECT_EQ(model.tokenize("x").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(model.detokenize(std::vector<int32_t>{1}).error().code, ErrorCode::kUnsupported);
  const ChatMessage message{"user", "hi"};
  EXPECT_EQ(model.chat_prompt({&message, 1}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(model.generate(Request{}).error().code, ErrorCode::kInvalidArgument);
  Request request;
  request.prompt = {1};
  request.sampling.max_tokens = -1;
  EXPECT_THAT(model.generate(request).error().message, HasSubstr("max_tokens is -1"));
}

TEST(ModelApi, ABadRequestTakesItsNeighboursDownAndNothingElse) {
  Model model = load(fixture());
  Request good;
  good.prompt = {1, 2};
  good.sampling.ignore_eos = true;  // the seed is random
  good.sampling.max_tokens = 2;
  int pieces = 0;
  Request watched = good;
  watched.on_piece = [&](const Piece&) { return ++pieces > 0; };
  Request bad = good;
  bad.prompt = {-1};
  EXPECT_FALSE(model.generate({watched, bad}).ok());
  EXPECT_EQ(model.generate(good).value().tokens.size(), 2u);
  EXPECT_EQ(pieces, 0);
}

TEST(ModelApi, GenerateInsideACallbackIsRefused) {
  Model model = load(fixture());
  Request request;
  request.prompt = {1};
  request.sampling.max_tokens = 1;
  std::optional<Error> inner;
  request.on_piece = [&](const Piece&) {
    Request again;
    again.prompt = {1};
    inner = model.generate(again).error();
    return true;
  };
  ASSERT_TRUE(model.generate(request).ok());
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->code, ErrorCode::kInvalidArgument);
}

TEST(ModelApi, ThreadsWaitForEachOther) {
  Model model = load(fixture());
  Request request;
  request.prompt = {1, 2, 3};
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 5;
  const std::vector<int32_t> expected = model.generate(request).value().tokens;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(model.generate(request).value().tokens, expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DevicesApi, UsableDevicesListTheirVariants) {
  const std::vector<DeviceInfo> list = devices().value();
  bool usable = false;
  for (const DeviceInfo& device : list) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.detail.empty());
    if (!device.usable) continue;
    usable = true;
    EXPECT_GE(device.threads, 1);
    EXPECT_EQ(device.ops.size(), 16u);
    for (const OpVariants& op : device.ops) EXPECT_FALSE(op.variants.empty()) << op.op;
  }
  EXPECT_TRUE(usable);
}

}  // namespace
}  // namespace moe
