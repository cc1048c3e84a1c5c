// The engine: a loaded model, its KV cache, and a step loop that serves several requests at once.
//
// A step prefills at most `prefill_chunk` prompt tokens a sequence and decodes one token of each
// running sequence. Tokens and logit bits of a request depend on the request alone: not on the
// chunk size, other requests, or the number of threads.
// Threads: one thread drives an Engine. Callbacks run on that thread.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/request.hpp"
#include "model/model.hpp"
#include "ops/op_table.hpp"
#include "providers/provider.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace moe::engine {

struct EngineOptions {
  std::string device = "auto";
  providers::OpenOptions device_options;
  ops::MoeNumerics moe_numerics = ops::MoeNumerics::kNative;
  int64_t context = 0;      // tokens a sequence may reach; 0 = the model's, at most kDefaultContext
  int64_t kv_tokens = 0;    // size of the KV pool; 0 = one full context, at least kDefaultKvTokens
  int64_t block_size = 16;  // tokens in a page
  int64_t prefill_chunk = 256;
  int64_t max_sequences = 16;
  // Called with (bytes read, bytes in total) while weights are brought to the device. May be empty.
  std::function<void(uint64_t, uint64_t)> on_load_progress;

  static constexpr int64_t kDefaultContext = 32768;
  static constexpr int64_t kDefaultKvTokens = 4096;
  static constexpr int64_t kMaxContext = 1 << 20;
  static constexpr int64_t kMaxPrefillChunk = 8192;
  static constexpr int64_t kMaxSequences = 1024;
};

using RequestId = int64_t;

class Engine {
 public:
  // Errors: what loading reports; invalid_argument for options out of range; out_of_memory.
  static Result<std::unique_ptr<Engine>> load(const std::filesystem::path& model_dir,
                                              const EngineOptions& options);
  ~Engine();

  // Queues a request. Errors: invalid_argument (bad ids or parameters, prompt too long, with the
  // numbers), out_of_memory when the KV pool could never hold it.
  Result<RequestId> submit(Request request);
  // Advances all running requests by one step. Errors are the device's; every request is then lost.
  Status step();
  bool idle() const;
  // True once and only once for a finished request: moves its answer out.
  std::optional<Completion> take(RequestId id);
  // Ends a request at the next step; its pages are freed.
  void abort(RequestId id);

  // submit + step until all are done; answers in the order of the requests.
  Result<std::vector<Completion>> generate(std::vector<Request> requests);

  const model::Model& model() const;
  // Null when the folder has no tokenizer.json.
  std::shared_ptr<const text::Tokenizer> tokenizer() const;
  const std::filesystem::path& model_dir() const;
  const std::vector<int32_t>& eos_token_ids() const;
  // Defaults of generation_config.json applied to SamplingParams (temperature, top-k, ...).
  SamplingParams default_sampling() const;
  int64_t context() const;
  Device& device();
  ops::OpTable& op_table();
  const std::vector<std::string>& warnings() const;

 private:
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moe::engine
