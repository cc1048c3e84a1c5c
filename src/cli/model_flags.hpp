// Flags that verbs share: how a model is loaded and how its next token is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "moe/moe.hpp"

namespace moe::cli {

// Where operations run. Also for verbs that load no model.
struct DeviceFlags {
  std::string device = "auto";
  std::optional<int32_t> threads;
  std::string cpu_isa;
  std::vector<std::string> disabled;

  void add_to(CLI::App& app);
  DeviceOptions options() const;
};

struct ModelFlags {
  std::string folder;  // "" = the bundled model
  DeviceFlags device;
  std::string numerics = "native";
  std::optional<int64_t> context;
  std::optional<int64_t> kv_tokens;
  std::optional<int64_t> prefill_chunk;
  bool verbose = false;

  void add_to(CLI::App& app);
  LoadOptions options() const;
  // Loads the model, with a progress bar when that takes long. Errors: those of Model::load;
  // not_found when no folder was given and the bundled one is not there.
  Result<Model> load() const;
};

struct SamplingFlags {
  std::optional<float> temperature;
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;
  std::optional<float> presence_penalty;
  std::optional<float> frequency_penalty;
  std::map<int32_t, float> logit_bias;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> min_tokens;
  bool ignore_eos = false;

  void add_to(CLI::App& app);
  // The model's defaults with what was given on the command line.
  // Errors: invalid_argument for --max-tokens 0 (which would mean "no limit" to the library).
  Result<Sampling> apply_to(Sampling defaults) const;
};

// The folder of the model that comes with the program: beside the build that the program runs
// from, or in the working folder. Errors: not_found.
Result<std::string> bundled_model();

}  // namespace moe::cli
