#include "cli/model_flags.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/errors.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"

namespace moe::cli {
namespace {

template <class Value, class Field>
void set_if_given(const std::optional<Value>& value, Field& field) {
  if (value) field = *value;
}

// "ID=V"
void parse_bias(const std::string& entry, std::map<int32_t, float>& bias) {
  const size_t equals = entry.find('=');
  if (equals == std::string::npos) {
    throw CLI::ValidationError("--logit-bias", "got \"" + entry + "\", wanted ID=VALUE");
  }
  const std::string_view text = entry;
  const int32_t id = integer_of("--logit-bias", text.substr(0, equals));
  bias[id] = number_of("--logit-bias", text.substr(equals + 1));
}

void print_verbose(const Model& model, double seconds) {
  const ModelInfo& info = model.info();
  print_note(fmt::format("{}: {} parameters, {} of them active per token", info.architecture,
                         with_separators(info.parameters),
                         with_separators(info.active_parameters)));
  print_note(fmt::format("loaded in {:.2f} s on {} ({}), expert chain: {}", seconds, info.device,
                         info.device_architecture, info.expert_numerics));
  for (const std::string& warning : info.warnings) print_note("note: " + warning);
}

}  // namespace

void DeviceFlags::add_to(CLI::App& app) {
  app.add_option("--device", device);
  add_number(app, "--threads", threads);
  app.add_option("--cpu-isa", cpu_isa);
  add_list(app, "--disable-op", disabled);
}

DeviceOptions DeviceFlags::options() const {
  DeviceOptions options;
  set_if_given(threads, options.threads);
  options.cpu_isa = cpu_isa;
  options.disabled = disabled;
  return options;
}

void ModelFlags::add_to(CLI::App& app) {
  app.add_option("MODEL", folder);
  device.add_to(app);
  app.add_option("--numerics", numerics)->check(CLI::IsMember({"native", "legacy"}));
  add_number(app, "--context", context);
  add_number(app, "--kv-tokens", kv_tokens);
  add_number(app, "--prefill-chunk", prefill_chunk);
  app.add_flag("-v,--verbose", verbose);
}

LoadOptions ModelFlags::options() const {
  LoadOptions options;
  options.device = device.device;
  options.device_options = device.options();
  options.numerics = numerics == "legacy" ? Numerics::kLegacy : Numerics::kNative;
  set_if_given(context, options.context);
  set_if_given(kv_tokens, options.kv_tokens);
  set_if_given(prefill_chunk, options.prefill_chunk);
  return options;
}

Result<Model> ModelFlags::load() const {
  const std::string path = folder.empty() ? TRY(bundled_model()) : folder;
  LoadOptions load_options = options();
  ProgressBar bar("loading");
  load_options.on_progress = [&bar](uint64_t done, uint64_t total) { bar.update(done, total); };
  const auto begin = std::chrono::steady_clock::now();
  Result<Model> model = Model::load(path, load_options);
  bar.finish();
  if (verbose && model.ok()) {
    print_verbose(*model,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return model;
}

void SamplingFlags::add_to(CLI::App& app) {
  add_number(app, "--temperature", temperature);
  add_number(app, "--top-k", top_k);
  add_number(app, "--top-p", top_p);
  add_number(app, "--min-p", min_p);
  add_number(app, "--repetition-penalty", repetition_penalty);
  add_number(app, "--presence-penalty", presence_penalty);
  add_number(app, "--frequency-penalty", frequency_penalty);
  add_number(app, "--seed", seed);
  add_number(app, "--max-tokens", max_tokens);
  add_number(app, "--min-tokens", min_tokens);
  add_list(app, "--stop", stop);
  app.add_flag("--ignore-eos", ignore_eos);
  app.add_option_function<std::vector<std::string>>(
         "--logit-bias",
         [this](const std::vector<std::string>& entries) {
           for (const std::string& entry : entries) parse_bias(entry, logit_bias);
         })
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--stop-token-id",
         [this](const std::vector<std::string>& entries) {
           for (const std::string& entry : entries) {
             stop_token_ids.push_back(integer_of("--stop-token-id", entry));
           }
         })
      ->allow_extra_args(false);
}

Result<Sampling> SamplingFlags::apply_to(Sampling sampling) const {
  if (max_tokens && *max_tokens < 1) {
    return invalid_argument(fmt::format("--max-tokens is {}, wanted at least 1", *max_tokens),
                            "leave it out for an answer up to the end of the context");
  }
  set_if_given(temperature, sampling.temperature);
  set_if_given(top_k, sampling.top_k);
  set_if_given(top_p, sampling.top_p);
  set_if_given(min_p, sampling.min_p);
  set_if_given(repetition_penalty, sampling.repetition_penalty);
  set_if_given(presence_penalty, sampling.presence_penalty);
  set_if_given(frequency_penalty, sampling.frequency_penalty);
  set_if_given(seed, sampling.seed);
  set_if_given(max_tokens, sampling.max_tokens);
  set_if_given(min_tokens, sampling.min_tokens);
  if (!logit_bias.empty()) sampling.logit_bias = logit_bias;
  if (!stop.empty()) sampling.stop = stop;
  if (!stop_token_ids.empty()) sampling.stop_token_ids = stop_token_ids;
  sampling.ignore_eos = ignore_eos;
  return sampling;
}

Result<std::string> bundled_model() {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path places[] = {program.parent_path() / "../../../models/wordnet-moe",
                             "models/wordnet-moe"};
  for (const fs::path& place : places) {
    if (fs::exists(place / "config.json", failed)) return place.lexically_normal().string();
  }
  return not_found("no MODEL was given, and the bundled model is not there",
                   "name a checkpoint folder: moe run MODEL -p TEXT");
}

}  // namespace moe::cli
