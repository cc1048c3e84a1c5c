// The promise of equal bits: a request's tokens and logits depend on the request alone.
#include "engine_fixture.hpp"

namespace moe::golden {
namespace {

constexpr int64_t kLongest = 257;
constexpr int64_t kAnswer = 3;

// qwen3_moe_varied: grouped heads, a dense layer among MoE layers, odd sizes, 512 positions.
class Determinism : public ::testing::Test {
 protected:
  static std::unique_ptr<engine::Engine> engine(int threads, int64_t chunk) {
    engine::EngineOptions options;
    options.device_options.threads = threads;
    options.prefill_chunk = chunk;
    return load(model_dir("qwen3_moe_varied"), options);
  }
};

TEST_F(Determinism, EveryPromptLengthChunkSizeAndThreadCountGivesEqualBits) {
  const auto whole = engine(1, kLongest);
  ASSERT_NE(whole, nullptr);
  const int64_t vocab = whole->model().config().vocab_size;
  std::vector<Trace> expected;
  for (int64_t length = 1; length <= kLongest; ++length) {
    expected.push_back(trace(*whole, {made_prompt(length, vocab)}, kAnswer)[0]);
    ASSERT_EQ(expected.back().logit_bits.size(),
              static_cast<size_t>((length + kAnswer - 1) * vocab));
  }
  for (int threads : {1, 2, 4}) {
    for (int64_t chunk : {1, 16, 32, 64, 256}) {
      const auto cut = engine(threads, chunk);
      for (int64_t length = 1; length <= kLongest; ++length) {
        const Trace got = trace(*cut, {made_prompt(length, vocab)}, kAnswer)[0];
        ASSERT_TRUE(got == expected[static_cast<size_t>(length - 1)])
            << "length " << length << " chunk " << chunk << " threads " << threads;
      }
    }
  }
}

TEST_F(Determinism, EachRequestAloneOrAmongFifteenOthersGivesEqualBits) {
  const auto alone = engine(2, 64);
  const int64_t vocab = alone->model().config().vocab_size;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<Trace> expected;
  for (int64_t i = 0; i < 16; ++i) {
    prompts.push_back(made_prompt(1 + 5 * i, vocab, i));
    expected.push_back(trace(*alone, {prompts.back()}, 8)[0]);
  }
  for (int64_t chunk : {1, 16, 256}) {
    const auto together = engine(2, chunk);
    const std::vector<Trace> got = trace(*together, prompts, 8);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_TRUE(got[i] == expected[i]) << "request " << i << " chunk " << chunk;
    }
  }
}

TEST_F(Determinism, SampledTextDependsOnSeedAndRequestAlone) {
  const auto draw = [](engine::Engine& engine, size_t copies, uint64_t seed) {
    std::vector<engine::Request> requests(copies);
    for (size_t i = 0; i < copies; ++i) {
      requests[i].prompt = made_prompt(9 + static_cast<int64_t>(i), 300, static_cast<int64_t>(i));
      requests[i].sampling.temperature = 1.3F;
      requests[i].sampling.top_k = 50;
      requests[i].sampling.top_p = 0.95F;
      requests[i].sampling.frequency_penalty = 0.3F;
      requests[i].sampling.seed = seed + i;
      requests[i].sampling.ignore_eos = true;
      requests[i].sampling.max_tokens = 24;
    }
    std::vector<std::vector<int32_t>> tokens;
    const auto answers = engine.generate(std::move(requests)).value();
    for (const engine::Completion& answer : answers) tokens.push_back(answer.tokens);
    return tokens;
  };
  const auto one = engine(1, 256);
  const auto expected = draw(*one, 1, 77)[0];
  EXPECT_EQ(draw(*one, 1, 77)[0], expected);
  EXPECT_EQ(draw(*one, 12, 77)[0], expected);
  EXPECT_EQ(draw(*engine(4, 1), 12, 77)[0], expected);
  EXPECT_NE(draw(*one, 1, 78)[0], expected);
}

}  // namespace
}  // namespace moe::golden
