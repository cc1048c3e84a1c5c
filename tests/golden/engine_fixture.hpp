// What the golden tests share: where reference data lies, and short ways to run the engine.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace moe::golden {

inline std::filesystem::path bundled_oracle() {
  return std::filesystem::path(MOE_SOURCE_DIR) / "tests/data/oracle";
}
// The full reference folder; may not exist.
inline std::filesystem::path full_oracle() {
  return std::filesystem::path(MOE_REFERENCE_DIR) / "oracle";
}
inline std::filesystem::path model_dir(const std::string& name) {
  return bundled_oracle() / "models" / name;
}

inline std::unique_ptr<engine::Engine> load(const std::filesystem::path& dir,
                                            const engine::EngineOptions& options = {}) {
  Result<std::unique_ptr<engine::Engine>> loaded = engine::Engine::load(dir, options);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.error().to_string();
    return nullptr;
  }
  return std::move(loaded).value();
}

// One greedy answer with every logit bit of prompt and answer.
struct Trace {
  std::vector<int32_t> tokens;
  std::vector<uint32_t> logit_bits;  // [positions, V], row-major

  friend bool operator==(const Trace&, const Trace&) = default;
};

inline engine::Request greedy_request(std::vector<int32_t> prompt, int64_t tokens) {
  engine::Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = tokens;
  return request;
}

inline void record_logits(engine::Request& request, std::vector<uint32_t>& bits) {
  request.on_logits = [&bits](int64_t first, ConstView logits) {
    EXPECT_EQ(first * logits.cols, static_cast<int64_t>(bits.size()));
    for (int64_t row = 0; row < logits.rows; ++row) {
      for (int64_t v = 0; v < logits.cols; ++v) {
        bits.push_back(std::bit_cast<uint32_t>(logits.f32_row(row)[v]));
      }
    }
  };
}

// Greedy answers to all prompts, submitted together.
inline std::vector<Trace> trace(engine::Engine& engine,
                                const std::vector<std::vector<int32_t>>& prompts, int64_t tokens) {
  std::vector<Trace> traces(prompts.size());
  std::vector<engine::Request> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    requests.push_back(greedy_request(prompts[i], tokens));
    record_logits(requests.back(), traces[i].logit_bits);
  }
  const auto answers = engine.generate(std::move(requests));
  EXPECT_TRUE(answers.ok()) << (answers.ok() ? "" : answers.error().to_string());
  if (!answers.ok()) return traces;
  for (size_t i = 0; i < prompts.size(); ++i) traces[i].tokens = answers.value()[i].tokens;
  return traces;
}

// A prompt of `length` ids below `vocab`, different for each `seed`.
inline std::vector<int32_t> made_prompt(int64_t length, int64_t vocab, int64_t seed = 0) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < length; ++i) {
    prompt.push_back(static_cast<int32_t>((7 + 31 * i + 13 * seed * (i + 1)) % vocab));
  }
  return prompt;
}

}  // namespace moe::golden
