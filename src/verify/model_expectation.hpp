// What an oracle folder expects of one model: prompts, greedy tokens, logits and their bounds.
// Layout: `models/<name>/` with config.json, weights, expect.json and logits.safetensors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "moe/result.hpp"

namespace moe::verify {

// Allowed difference to the FP32 run: 1.5 times what the BF16 run of the reference differs.
inline constexpr double kLogitBoundFactor = 1.5;

struct ModelExpectation {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::vector<int32_t>> tokens;  // greedy answer of each prompt
  double max_abs_bound = 0;                  // largest logit difference to the FP32 run
  double rms_bound = 0;                      // root mean square of the differences, all prompts
};

// The logits of the reference's FP32 run: [prompt + answer, V] of each prompt.
class ModelLogits {
 public:
  static Result<ModelLogits> open(const std::filesystem::path& file, size_t prompts);

  int64_t rows(size_t prompt) const { return tensors_[prompt].shape[0]; }
  int64_t vocab() const { return tensors_[0].shape[1]; }
  const float* row(size_t prompt, int64_t position) const {
    return reinterpret_cast<const float*>(tensors_[prompt].data) + position * vocab();
  }

 private:
  explicit ModelLogits(io::SafetensorsFile file) : file_(std::move(file)) {}

  io::SafetensorsFile file_;
  std::vector<io::TensorInfo> tensors_;
};

// Errors: not_found or corrupt, with the file and the field.
Result<ModelExpectation> load_model_expectation(const std::filesystem::path& model_dir);

}  // namespace moe::verify
