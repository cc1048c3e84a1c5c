#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "api/convert.hpp"
#include "base/errors.hpp"
#include "base/json.hpp"
#include "io/generation_config.hpp"
#include "moe/inspect.hpp"
#include "text/prompt/chat_prompt.hpp"

namespace moe {

struct Model::State {
  std::unique_ptr<engine::Engine> engine;
  Result<text::ChatPrompt> chat = not_found("no chat template was read");
  ModelInfo info;
  Sampling default_sampling;
  int64_t answer_room = 0;  // tokens of prompt and answer that the cache holds for one request

  std::mutex mutex;                              // one thread drives the engine
  std::atomic<std::thread::id> generating = {};  // who holds the mutex

  void read_chat_template(const std::string& folder);
  void describe(const CheckpointInfo& checkpoint);
  Result<std::vector<Completion>> run(std::vector<Request>& requests,
                                      const std::function<bool()>& keep_going);
  Result<std::vector<engine::RequestId>> submit_all(std::vector<Request>& requests);
  void drop(const std::vector<engine::RequestId>& ids);
};

namespace {

engine::Request to_engine(Request& request, size_t index, int64_t room) {
  engine::Request converted;
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  converted.prompt = request.prompt;
  converted.sampling = api::to_engine(request.sampling, std::max<int64_t>(1, room - prompt_tokens));
  if (request.on_piece) {
    converted.on_progress = [&request, index](const engine::Progress& progress) {
      PositionLogprobs logprobs;
      Piece piece{index, progress.token, progress.text, nullptr};
      if (progress.logprobs != nullptr) {
        logprobs = api::to_public(*progress.logprobs);
        piece.logprobs = &logprobs;
      }
      return request.on_piece(piece);
    };
  }
  if (request.on_logits) {
    converted.on_logits = [&request, index](int64_t first, ConstView logits) {
      const auto count = static_cast<size_t>(logits.rows * logits.cols);
      request.on_logits({index, first, logits.cols, {logits.f32_row(0), count}});
    };
  }
  return converted;
}

// Marks the calling thread as the one that generates.
class Generating {
 public:
  explicit Generating(std::atomic<std::thread::id>& thread) : thread_(thread) {
    thread_ = std::this_thread::get_id();
  }
  ~Generating() { thread_ = std::thread::id(); }
  Generating(const Generating&) = delete;
  Generating& operator=(const Generating&) = delete;

 private:
  std::atomic<std::thread::id>& thread_;
};

Error no_tokenizer(const engine::Engine& engine) {
  return unsupported(fmt::format("{}: the model folder has no tokenizer.json, so only token ids "
                                 "can be used",
                                 engine.model_dir().string()),
                     "add tokenizer.json to the folder, or pass token ids");
}

}  // namespace

void Model::State::read_chat_template(const std::string& folder) {
  if (!engine->tokenizer()) {
    chat = no_tokenizer(*engine);
    return;
  }
  chat = text::ChatPrompt::load(folder, engine->tokenizer());
  // A folder without a template is ordinary; one that cannot be read is worth a word.
  if (!chat.ok() && chat.error().code != ErrorCode::kNotFound) {
    info.warnings.push_back("no chat template: " + chat.error().message);
  }
}

void Model::State::describe(const CheckpointInfo& checkpoint) {
  const model::Model& loaded = engine->model();
  const model::DecoderConfig& config = loaded.config();
  info.architecture = loaded.architecture().name;
  info.parameters = checkpoint.parameters;
  info.active_parameters = checkpoint.active_parameters.value_or(0);
  info.weight_bytes = checkpoint.bytes;
  info.layers = config.layer_count();
  info.hidden = config.hidden;
  info.vocab_size = config.vocab_size;
  info.experts = config.moe.experts;
  info.experts_per_token = config.moe.slots;
  info.context = engine->context();
  info.kv_bytes_per_token = config.kv_bytes_per_token();
  const DeviceFacts& facts = engine->device().facts();
  info.device = facts.name;
  info.device_architecture = facts.architecture;
  const bool dense = std::none_of(config.layers.begin(), config.layers.end(),
                                  [](const model::LayerConfig& layer) { return layer.moe; });
  const ops::MoeChain& chain = loaded.moe_chain();
  info.expert_numerics = chain.numerics == ops::MoeNumerics::kNative ? "native" : "legacy";
  if (dense) info.expert_numerics = "none";
  for (const ops::OpId op : chain.missing) info.missing_ops.emplace_back(ops::name_of(op));
  info.has_tokenizer = engine->tokenizer() != nullptr;
  info.has_chat_template = chat.ok();
  info.eos_token_ids = engine->eos_token_ids();
  info.warnings.insert(info.warnings.begin(), engine->warnings().begin(), engine->warnings().end());
}

Result<Model> Model::load(const std::string& folder, const LoadOptions& options) {
  const engine::EngineOptions engine_options = TRY(api::to_engine_options(options));
  auto state = std::make_unique<State>();
  state->engine = TRY(engine::Engine::load(folder, engine_options));
  state->read_chat_template(folder);
  state->describe(TRY(inspect(folder)));
  state->default_sampling = api::to_public(state->engine->default_sampling());
  const io::GenerationConfig generation =
      TRY(io::GenerationConfig::load(folder, TRY(io::HfConfig::load(folder))));
  state->default_sampling.max_tokens = generation.max_new_tokens.value_or(0);
  state->answer_room = state->engine->context();
  if (options.kv_tokens > 0) {
    state->answer_room = std::min(state->answer_room, options.kv_tokens);
  }
  return Model(std::move(state));
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const ModelInfo& Model::info() const { return state_->info; }
Sampling Model::default_sampling() const { return state_->default_sampling; }

Result<std::vector<int32_t>> Model::tokenize(std::string_view text,
                                             const TokenizeOptions& options) const {
  const auto tokenizer = state_->engine->tokenizer();
  if (!tokenizer) return no_tokenizer(*state_->engine);
  return tokenizer->encode(
      text, options.add_special_tokens,
      options.parse_special_tokens ? text::SpecialTokens::kParse : text::SpecialTokens::kPlainText);
}

Result<std::string> Model::detokenize(std::span<const int32_t> ids,
                                      bool skip_special_tokens) const {
  const auto tokenizer = state_->engine->tokenizer();
  if (!tokenizer) return no_tokenizer(*state_->engine);
  return tokenizer->decode(ids, skip_special_tokens);
}

namespace {

Result<text::ChatPromptOptions> to_prompt_options(const ChatOptions& options) {
  text::ChatPromptOptions converted;
  converted.add_generation_prompt = options.add_generation_prompt;
  if (!options.tools_json.empty()) converted.tools = TRY(parse_json(options.tools_json, "tools"));
  if (!options.variables_json.empty()) {
    converted.variables = TRY(parse_json(options.variables_json, "template variables"));
  }
  return converted;
}

}  // namespace

Result<std::vector<int32_t>> Model::chat_prompt(std::span<const ChatMessage> messages,
                                                const ChatOptions& options) const {
  if (!state_->chat.ok()) return state_->chat.error();
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  return state_->chat->encode(list, TRY(to_prompt_options(options)));
}

Result<std::vector<int32_t>> Model::chat_prompt_json(std::string_view messages_json,
                                                     const ChatOptions& options) const {
  if (!state_->chat.ok()) return state_->chat.error();
  return state_->chat->encode(TRY(parse_json(messages_json, "messages")),
                              TRY(to_prompt_options(options)));
}

// Ends requests and forgets their answers, so that no callback of theirs is called again.
void Model::State::drop(const std::vector<engine::RequestId>& ids) {
  for (const engine::RequestId id : ids) engine->abort(id);
  while (!engine->idle()) {
    const Status ignored = engine->step();
    if (!ignored.ok()) break;
  }
  for (const engine::RequestId id : ids) engine->take(id);
}

Result<std::vector<engine::RequestId>> Model::State::submit_all(std::vector<Request>& requests) {
  std::vector<engine::RequestId> ids;
  for (size_t i = 0; i < requests.size(); ++i) {
    Result<engine::RequestId> id = engine->submit(to_engine(requests[i], i, answer_room));
    if (!id.ok()) {
      drop(ids);
      return std::move(id).error();
    }
    ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<Completion>> Model::State::run(std::vector<Request>& requests,
                                                  const std::function<bool()>& keep_going) {
  const std::vector<engine::RequestId> ids = TRY(submit_all(requests));
  bool stopped = false;
  while (!engine->idle()) {
    if (!stopped && keep_going && !keep_going()) {
      stopped = true;
      for (const engine::RequestId id : ids) engine->abort(id);
    }
    Status step = engine->step();
    if (!step.ok()) {
      drop(ids);
      return std::move(step).error();
    }
  }
  std::vector<Completion> completions;
  for (const engine::RequestId id : ids) {
    completions.push_back(api::to_public(engine->take(id).value()));
  }
  return completions;
}

Result<std::vector<Completion>> Model::generate(std::vector<Request> requests,
                                                const std::function<bool()>& keep_going) {
  if (state_->generating.load() == std::this_thread::get_id()) {
    return invalid_argument("generate() was called from a callback of generate()",
                            "return from the callback first");
  }
  const std::lock_guard lock(state_->mutex);
  const Generating mark(state_->generating);
  return state_->run(requests, keep_going);
}

Result<Completion> Model::generate(Request request, const std::function<bool()>& keep_going) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  std::vector<Completion> completions = TRY(generate(std::move(requests), keep_going));
  return std::move(completions.front());
}

std::vector<OpCount> Model::op_counts() const {
  return api::to_public(state_->engine->op_table().counts());
}

std::vector<ChainRefusal> Model::chain_refusals() const {
  std::vector<ChainRefusal> rows;
  for (int op = 0; op < ops::kOpCount; ++op) {
    const auto id = static_cast<ops::OpId>(op);
    const uint64_t count = state_->engine->op_table().chain_refusals(id);
    if (count > 0) rows.push_back({std::string(ops::name_of(id)), count});
  }
  return rows;
}

void Model::reset_op_counts() { state_->engine->op_table().reset_counts(); }

}  // namespace moe
