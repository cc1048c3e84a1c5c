// The C++ API of moe.cpp: load a checkpoint folder, turn text into token ids, generate, look at
// devices and at what the operations did.
//
// Values are plain and owned by the caller; nothing here names a type of another library.
// Errors are values (moe/result.hpp): a function that can fail returns Result<T>, whose Error has
// a code, a message and a fix. No function throws but for lack of memory.
// Threads: functions of one Model may be called from any thread; generate() calls wait for each
// other. Callbacks run on the thread that called generate() and must not call generate() of the
// same Model (that gives invalid_argument).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/export.h"
#include "moe/result.hpp"

namespace moe {

// "0.1.0"
MOE_API std::string_view version();

// ---------------------------------------------------------------------------------------- devices

// An operation on one device: the variants it may take there, best first, and those it cannot.
struct OpVariants {
  struct Unavailable {
    std::string variant;
    std::string reason;
  };
  std::string op;
  std::vector<std::string> variants;
  std::vector<Unavailable> unavailable;
};

struct DeviceInfo {
  std::string name;  // what LoadOptions::device takes
  bool usable = false;
  std::string detail;  // what it is, or why it cannot be used and the fix
  // Of usable devices:
  std::string architecture;
  std::string description;
  int threads = 0;            // CPU worker threads, 1 elsewhere
  uint64_t memory_bytes = 0;  // 0 = not known
  std::vector<OpVariants> ops;
};

// How a device is opened.
struct DeviceOptions {
  int threads = 0;                    // CPU: 0 = all allowed cores; at most 256
  std::string cpu_isa;                // CPU: "" = best, or a name such as "avx2"
  std::vector<std::string> disabled;  // diagnostics: op names, variant names or "kOp=variant"
};

// All device kinds that this build knows, usable or not.
MOE_API Result<std::vector<DeviceInfo>> devices(const DeviceOptions& options = {});

// ------------------------------------------------------------------------------------------- text

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", as the template knows them
  std::string content;
};

struct ChatOptions {
  bool add_generation_prompt = true;  // ends the prompt where the answer begins
  std::string tools_json;             // a JSON list of tool descriptions; "" = none
  std::string variables_json;         // a JSON object of further template variables; "" = none
};

struct TokenizeOptions {
  bool add_special_tokens = true;    // what the tokenizer puts around a text, such as BOS
  bool parse_special_tokens = true;  // false: text that reads like a special token stays text
};

// --------------------------------------------------------------------------------------- requests

// How the next token is chosen. Defaults: see Model::default_sampling().
struct Sampling {
  float temperature = 1;                // [0, 2]; 0 = the most likely token
  int32_t top_k = 0;                    // >= -1; 0 and -1 = off
  float top_p = 1;                      // (0, 1]
  float min_p = 0;                      // [0, 1]
  float repetition_penalty = 1;         // > 0
  float presence_penalty = 0;           // [-2, 2]
  float frequency_penalty = 0;          // [-2, 2]
  std::map<int32_t, float> logit_bias;  // token id -> [-100, 100], at most 1024
  std::optional<uint64_t> seed;         // none = a random one; Completion::seed tells it
  std::vector<std::string> stop;        // at most 64 texts of at most 4096 bytes
  std::vector<int32_t> stop_token_ids;
  bool include_stop_in_output = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  int64_t max_tokens = 0;               // tokens of the answer; 0 = up to the end of the context
  int64_t min_tokens = 0;               // no end before as many; <= max_tokens
  std::optional<int32_t> top_logprobs;  // [0, 20]; set = report log-probabilities
};

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;  // natural logarithm
};

struct PositionLogprobs {
  TokenLogprob drawn;
  int32_t rank = 0;               // of the drawn token, 1 = the most likely
  std::vector<TokenLogprob> top;  // most likely first
};

// What one token added to an answer. Valid during the callback.
struct Piece {
  size_t request = 0;  // its position in the list given to generate()
  int32_t token = 0;
  std::string_view text;  // complete UTF-8; may be empty, and always is without a tokenizer
  const PositionLogprobs* logprobs = nullptr;  // null unless asked for
};

// FP32 logits of positions first_position, first_position + 1, ...: values.size() / vocab_size
// rows. Valid during the callback.
struct LogitRows {
  size_t request = 0;
  int64_t first_position = 0;
  int64_t vocab_size = 0;
  std::span<const float> values;
};

struct Request {
  std::vector<int32_t> prompt;  // token ids; at least one, fewer than the context holds
  Sampling sampling;
  // Called for every token, and once more when the end of the answer sets held-back text free;
  // false ends this request with "abort". Must not throw. May be empty.
  std::function<bool(const Piece&)> on_piece;
  // Called for every position of the prompt and of the answer but its last token. May be empty.
  std::function<void(const LogitRows&)> on_logits;
};

struct Completion {
  std::vector<int32_t> tokens;  // with the one that ended the answer
  std::string text;             // empty without a tokenizer
  std::string finish_reason;    // "stop", "length", "abort" or "error"
  std::optional<Error> error;   // with "error": what went wrong in this request alone
  std::string stop_text;        // the stop text that matched, if one did
  std::optional<int32_t> stop_token;
  std::vector<PositionLogprobs> logprobs;  // one a token where asked for
  uint64_t seed = 0;                       // the one that was used
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0;  // from the call to the first token
  double decode_seconds = 0;   // from the first token to the last
};

// ------------------------------------------------------------------------------------------ model

enum class Numerics : uint8_t {
  kNative,  // the expert chain of the fused kernels; needs all five expert operations
  kLegacy,  // the other complete chain, also taken when native is not possible
};

struct LoadOptions {
  std::string device = "auto";  // a name from devices(), or the best usable one
  DeviceOptions device_options;
  Numerics numerics = Numerics::kNative;
  int64_t context = 0;          // tokens of prompt and answer; 0 = the model's, at most 32768
  int64_t kv_tokens = 0;        // size of the key-value cache; 0 = one context, at least 4096
  int64_t prefill_chunk = 256;  // prompt tokens computed at once; never changes a result
  int64_t max_sequences = 16;   // requests that run at the same time
  // Called with (bytes done, bytes in total) while weights are read. May be empty.
  std::function<void(uint64_t, uint64_t)> on_progress;
};

struct ModelInfo {
  std::string architecture;        // as in config.json
  uint64_t parameters = 0;         // a tied output head counts once
  uint64_t active_parameters = 0;  // that one token uses
  uint64_t weight_bytes = 0;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t vocab_size = 0;
  int64_t experts = 0;  // 0 for a dense model
  int64_t experts_per_token = 0;
  int64_t context = 0;  // tokens of prompt and answer that a request may reach
  int64_t kv_bytes_per_token = 0;
  std::string device;
  std::string device_architecture;
  std::string expert_numerics;           // "native", "legacy", or "none" for a dense model
  std::vector<std::string> missing_ops;  // why it is legacy although native was asked for
  bool has_tokenizer = false;
  bool has_chat_template = false;
  std::vector<int32_t> eos_token_ids;
  std::vector<std::string> warnings;
};

// What one variant of an operation did since loading or reset_op_counts().
struct OpCount {
  std::string op;
  std::string device;
  std::string variant;
  uint64_t selected = 0;
  uint64_t fallbacks = 0;                   // selected after a better variant refused
  std::map<std::string, uint64_t> refused;  // by reason
};

// The native expert chain was wanted and this operation has no provider on the device.
struct ChainRefusal {
  std::string op;
  uint64_t count = 0;
};

class Model {
 public:
  // Loads a checkpoint folder (config.json, *.safetensors, tokenizer.json). Weights are used where
  // the file is mapped if the device can. Errors: not_found, corrupt, unsupported (architecture or
  // device), out_of_memory, invalid_argument (an option out of its range).
  MOE_API static Result<Model> load(const std::string& folder, const LoadOptions& options = {});
  MOE_API Model(Model&&) noexcept;
  MOE_API Model& operator=(Model&&) noexcept;
  MOE_API ~Model();

  MOE_API const ModelInfo& info() const;
  // What generation_config.json of the folder asks for; max_tokens is its max_new_tokens or 0.
  MOE_API Sampling default_sampling() const;

  // Text -> ids. Errors: unsupported without a tokenizer, invalid_argument (no UTF-8, too long).
  MOE_API Result<std::vector<int32_t>> tokenize(std::string_view text,
                                                const TokenizeOptions& options = {}) const;
  // Ids -> text; bytes that are no UTF-8 are replaced.
  MOE_API Result<std::string> detokenize(std::span<const int32_t> ids,
                                         bool skip_special_tokens = true) const;
  // Messages -> the ids of a prompt, by the folder's chat template. Special tokens in the text of
  // messages stay text. Errors: not_found without a template, invalid_argument (its refusals).
  MOE_API Result<std::vector<int32_t>> chat_prompt(std::span<const ChatMessage> messages,
                                                   const ChatOptions& options = {}) const;
  // The same for messages with any fields: a JSON list of objects.
  MOE_API Result<std::vector<int32_t>> chat_prompt_json(std::string_view messages_json,
                                                        const ChatOptions& options = {}) const;

  // Runs requests to their end; answers are in the order of the requests. Each answer depends on
  // its own request alone. `keep_going` is called before every step (a prefill chunk, then a token
  // of each request); false ends all with "abort". Errors: invalid_argument (ids, parameters,
  // a prompt that does not fit), out_of_memory; then no request has an answer.
  MOE_API Result<std::vector<Completion>> generate(std::vector<Request> requests,
                                                   const std::function<bool()>& keep_going = {});
  MOE_API Result<Completion> generate(Request request,
                                      const std::function<bool()>& keep_going = {});

  MOE_API std::vector<OpCount> op_counts() const;
  MOE_API std::vector<ChainRefusal> chain_refusals() const;
  MOE_API void reset_op_counts();

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moe
