#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/check.hpp"
#include "base/checked_math.hpp"
#include "base/errors.hpp"
#include "engine/batch.hpp"
#include "engine/kv_cache.hpp"
#include "engine/sampler.hpp"
#include "engine/sequence.hpp"
#include "io/generation_config.hpp"
#include "model/catalogue.hpp"

namespace moe::engine {
namespace {

// Logit rows are made in slices of at most this many, so that the memory for them is bounded.
constexpr int64_t kLogitRows = 64;

Status option_in_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return invalid_argument(fmt::format("{} is {}, wanted {} to {}", name, value, low, high),
                          fmt::format("set --{} to a number in that range", name));
}

struct Sizes {
  int64_t context = 0;
  int64_t blocks = 0;
};

// The memory-related settings after defaults are filled in.
Result<Sizes> resolve_sizes(const EngineOptions& options, const model::DecoderConfig& config) {
  TRY(option_in_range("prefill-chunk", options.prefill_chunk, 1, EngineOptions::kMaxPrefillChunk));
  TRY(option_in_range("max-sequences", options.max_sequences, 1, EngineOptions::kMaxSequences));
  TRY(option_in_range("block-size", options.block_size, 1, 1024));
  const int64_t most = std::min(config.max_positions, EngineOptions::kMaxContext);
  Sizes sizes;
  sizes.context = options.context;
  if (options.context == 0) sizes.context = std::min(most, EngineOptions::kDefaultContext);
  TRY(option_in_range("context", sizes.context, 1, most));
  const int64_t kv_tokens = options.kv_tokens != 0
                                ? options.kv_tokens
                                : std::max(sizes.context, EngineOptions::kDefaultKvTokens);
  TRY(option_in_range("kv-tokens", kv_tokens, 1, INT32_MAX));
  sizes.blocks = ceil_div(kv_tokens, options.block_size);
  return sizes;
}

Error no_finite_logit(const Sequence& sequence) {
  return invalid_argument(
      fmt::format("the model gives no finite logit at position {}, so there is no next token",
                  sequence.token_count()),
      "a bias may ban every token; without one the weights are broken or activations overflowed");
}

}  // namespace

struct Engine::State {
  EngineOptions options;
  std::filesystem::path model_dir;
  providers::OpenedDevice opened;
  std::unique_ptr<model::Model> model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  io::GenerationConfig generation;
  std::vector<std::string> warnings;
  int64_t context = 0;
  int64_t blocks_per_sequence = 0;

  std::unique_ptr<ops::OpRunner> runner;
  Arena arena;
  std::optional<KvCache> cache;
  std::optional<BatchBuffers> batch_buffers;
  std::optional<Sampler> sampler;
  Buffer logit_rows;  // [kLogitRows] i32

  RequestId next_id = 1;
  std::deque<std::unique_ptr<Sequence>> waiting;
  std::vector<std::unique_ptr<Sequence>> running;
  std::unordered_map<RequestId, Completion> done;

  BatchLimits limits() const;
  Status load_text();
  Status plan_memory();
  int64_t pages_of(const Sequence& sequence) const;
  void admit();
  std::vector<Slice> schedule();
  void retire_finished();
  void release(Sequence& sequence);

  Result<View> logits_of(model::ForwardContext& context_, ConstView hidden,
                         std::span<const int32_t> rows);
  Status report_logits(model::ForwardContext& context_, ConstView hidden, const Slice& slice,
                       int64_t first_row);
  Status draw_next(model::ForwardContext& context_, ConstView hidden,
                   std::span<const Slice> slices);
};

BatchLimits Engine::State::limits() const {
  const model::DecoderConfig& config = model->config();
  BatchLimits limits;
  limits.sequences = options.max_sequences;
  limits.tokens = options.prefill_chunk + options.max_sequences;
  limits.blocks_per_sequence = blocks_per_sequence;
  limits.block_size = options.block_size;
  limits.slots_per_token = config.moe.slots;
  return limits;
}

Status Engine::State::load_text() {
  std::error_code ignored;
  if (!std::filesystem::exists(model_dir / "tokenizer.json", ignored)) {
    warnings.push_back("the model folder has no tokenizer.json: only token ids can be used");
    return {};
  }
  tokenizer = TRY(text::Tokenizer::load(model_dir));
  return {};
}

// One pass over the forward function in planning mode sizes the arena and the scratch.
Status Engine::State::plan_memory() {
  const BatchLimits batch_limits = limits();
  const model::BatchView batch = BatchBuffers::planned(batch_limits);
  model::ForwardContext forward{*runner, arena, batch};
  runner->begin_planning();
  {
    const Arena::Scope scope(arena);
    const View hidden = TRY(model->hidden_states(forward, cache->layers()));
    TRY(model->logits(forward, hidden, {nullptr, kLogitRows}));
  }
  TRY(runner->finish_planning());
  arena.back_with(TRY(opened.device->allocate(arena.peak_bytes())));
  batch_buffers = TRY(BatchBuffers::allocate(*opened.device, batch_limits));
  logit_rows = TRY(opened.device->allocate(kLogitRows * sizeof(int32_t)));
  sampler.emplace(*opened.device);
  return {};
}

Result<std::unique_ptr<Engine>> Engine::load(const std::filesystem::path& model_dir,
                                             const EngineOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->model_dir = model_dir;
  const model::DecoderConfig config = TRY(model::load_decoder_config(model_dir));
  const Sizes sizes = TRY(resolve_sizes(options, config));
  state->context = sizes.context;
  state->blocks_per_sequence = ceil_div(sizes.context, options.block_size);

  state->opened = TRY(providers::open_device(options.device, options.device_options));
  Device& device = *state->opened.device;
  model::LoadOptions load_options;
  load_options.moe_numerics = options.moe_numerics;
  load_options.positions = sizes.context;
  load_options.on_progress = options.on_load_progress;
  state->model = TRY(model::Model::load(model_dir, device, *state->opened.table, load_options));
  for (const std::string& field : state->model->unread_fields()) {
    state->warnings.push_back(fmt::format("config.json: field {} is not understood", field));
  }
  state->generation =
      TRY(io::GenerationConfig::load(model_dir, TRY(io::HfConfig::load(model_dir))));
  TRY(state->load_text());
  state->runner = std::make_unique<ops::OpRunner>(device, *state->opened.table);
  state->cache = TRY(KvCache::allocate(device, config, sizes.blocks, options.block_size));
  TRY(state->plan_memory());
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

int64_t Engine::State::pages_of(const Sequence& sequence) const {
  // The last token of an answer is never fed back, so it needs no room.
  const int64_t most = sequence.token_count() + sequence.request().sampling.max_tokens - 1;
  return ceil_div(std::min(most, sequence.token_limit()), options.block_size);
}

Result<RequestId> Engine::submit(Request request) {
  State& state = *state_;
  const int64_t vocab = state.model->config().vocab_size;
  TRY(request.sampling.validate(vocab));
  if (request.prompt.empty()) {
    return invalid_argument("the prompt is empty", "give at least one token");
  }
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (request.prompt[i] >= 0 && request.prompt[i] < vocab) continue;
    return invalid_argument(fmt::format("prompt token {} has id {}, the vocabulary has ids 0 to {}",
                                        i, request.prompt[i], vocab - 1),
                            "make the ids with this model's own tokenizer");
  }
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (prompt_tokens >= state.context) {
    return invalid_argument(
        fmt::format(
            "the prompt has {} tokens, the context holds {} and the answer needs one at least",
            prompt_tokens, state.context),
        "shorten the prompt or raise --context");
  }
  if (!request.sampling.stop.empty() && !state.tokenizer) {
    return invalid_argument("stop strings need a tokenizer, and the model folder has none",
                            "use stop_token_ids");
  }
  auto sequence = std::make_unique<Sequence>(state.next_id, std::move(request), state.context,
                                             state.tokenizer, state.generation.eos_token_ids);
  const int64_t pages = state.pages_of(*sequence);
  if (pages > state.cache->pool().total()) {
    return out_of_memory(fmt::format("the request may need {} pages of the KV cache, it has {}",
                                     pages, state.cache->pool().total()),
                         "lower max_tokens or raise --kv-tokens");
  }
  state.waiting.push_back(std::move(sequence));
  return state.next_id++;
}

void Engine::State::release(Sequence& sequence) {
  cache->pool().give_back(sequence.blocks);
  sequence.blocks.clear();
  done.emplace(sequence.id(), sequence.take_completion());
}

// First come, first served; a request starts only when its whole need fits, so none starves.
void Engine::State::admit() {
  while (!waiting.empty() && static_cast<int64_t>(running.size()) < options.max_sequences) {
    Sequence& next = *waiting.front();
    if (next.abort_requested) {
      next.finish(FinishReason::kAbort);
      release(next);
      waiting.pop_front();
      continue;
    }
    const int64_t pages = pages_of(next);
    if (pages > cache->pool().free_count()) return;
    next.blocks = cache->pool().take(pages);
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

// Every running sequence gets one token; prompts share `prefill_chunk` more.
std::vector<Slice> Engine::State::schedule() {
  std::vector<Slice> slices;
  int64_t chunk_left = options.prefill_chunk;
  for (const auto& sequence : running) {
    const int64_t missing = sequence->token_count() - sequence->computed;
    const int64_t count = missing == 1 ? 1 : std::min(missing, chunk_left);
    if (count == 0) continue;
    if (missing > 1) chunk_left -= count;
    slices.push_back({sequence.get(), sequence->computed, count});
  }
  return slices;
}

void Engine::State::retire_finished() {
  for (auto& sequence : running) {
    if (sequence->abort_requested && !sequence->finished()) sequence->finish(FinishReason::kAbort);
    if (sequence->finished()) release(*sequence);
  }
  std::erase_if(running, [](const auto& sequence) { return sequence->finished(); });
}

Result<View> Engine::State::logits_of(model::ForwardContext& forward, ConstView hidden,
                                      std::span<const int32_t> rows) {
  TRY(opened.device->copy_to_device(logit_rows.data(), rows.data(), rows.size_bytes()));
  const Array<const int32_t> device_rows{static_cast<const int32_t*>(logit_rows.data()),
                                         static_cast<int64_t>(rows.size())};
  return model->logits(forward, hidden, device_rows);
}

// Hands the logits of a whole slice to the request's callback, in FP32.
Status Engine::State::report_logits(model::ForwardContext& forward, ConstView hidden,
                                    const Slice& slice, int64_t first_row) {
  const int64_t vocab = model->config().vocab_size;
  for (int64_t done_rows = 0; done_rows < slice.count;) {
    const Arena::Scope scope(arena);
    const int64_t count = std::min(kLogitRows, slice.count - done_rows);
    std::vector<int32_t> rows;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<int32_t>(first_row + done_rows + i));
    }
    const View logits = TRY(logits_of(forward, hidden, rows));
    std::vector<Bf16> narrow(static_cast<size_t>(count * vocab));
    TRY(opened.device->copy_to_host(narrow.data(), logits.data, narrow.size() * sizeof(Bf16)));
    std::vector<float> wide(narrow.size());
    std::transform(narrow.begin(), narrow.end(), wide.begin(), to_f32);
    slice.sequence->request().on_logits(slice.begin + done_rows,
                                        {wide.data(), DType::kF32, count, vocab, vocab});
    done_rows += count;
  }
  return {};
}

Status Engine::State::draw_next(model::ForwardContext& forward, ConstView hidden,
                                std::span<const Slice> slices) {
  std::vector<Sequence*> sequences;
  std::vector<int32_t> rows;
  int64_t row = 0;
  for (const Slice& slice : slices) {
    row += slice.count;
    if (!slice.completes()) continue;
    sequences.push_back(slice.sequence);
    rows.push_back(static_cast<int32_t>(row - 1));
  }
  for (size_t first = 0; first < rows.size(); first += kLogitRows) {
    const Arena::Scope scope(arena);
    const size_t count = std::min<size_t>(kLogitRows, rows.size() - first);
    const View logits = TRY(logits_of(forward, hidden, std::span(rows).subspan(first, count)));
    const auto part = std::span(sequences).subspan(first, count);
    std::vector<Draw> draws = TRY(sampler->draw(*runner, logits, part));
    for (size_t i = 0; i < count; ++i) {
      if (draws[i].token == ops::kNoToken) {
        part[i]->fail(no_finite_logit(*part[i]));
        continue;
      }
      TRY(part[i]->accept(draws[i].token, std::move(draws[i].logprobs)));
    }
  }
  return {};
}

Status Engine::step() {
  State& state = *state_;
  state.retire_finished();
  state.admit();
  const std::vector<Slice> slices = state.schedule();
  if (slices.empty()) return {};
  const model::BatchView batch = TRY(state.batch_buffers->upload(*state.opened.device, slices));
  model::ForwardContext forward{*state.runner, state.arena, batch};
  const Arena::Scope scope(state.arena);
  const View hidden = TRY(state.model->hidden_states(forward, state.cache->layers()));
  int64_t first_row = 0;
  for (const Slice& slice : slices) {
    if (slice.sequence->request().on_logits) {
      TRY(state.report_logits(forward, hidden, slice, first_row));
    }
    first_row += slice.count;
  }
  TRY(state.draw_next(forward, hidden, slices));
  for (const Slice& slice : slices) slice.sequence->computed = slice.end();
  state.retire_finished();
  return {};
}

bool Engine::idle() const { return state_->waiting.empty() && state_->running.empty(); }

std::optional<Completion> Engine::take(RequestId id) {
  const auto found = state_->done.find(id);
  if (found == state_->done.end()) return std::nullopt;
  std::optional<Completion> completion = std::move(found->second);
  state_->done.erase(found);
  return completion;
}

void Engine::abort(RequestId id) {
  for (auto& sequence : state_->waiting) {
    if (sequence->id() == id) sequence->abort_requested = true;
  }
  for (auto& sequence : state_->running) {
    if (sequence->id() == id) sequence->abort_requested = true;
  }
}

Result<std::vector<Completion>> Engine::generate(std::vector<Request> requests) {
  std::vector<RequestId> ids;
  for (Request& request : requests) {
    Result<RequestId> id = submit(std::move(request));
    if (!id.ok()) {
      for (RequestId submitted : ids) abort(submitted);
      while (!idle()) TRY(step());
      return std::move(id).error();
    }
    ids.push_back(*id);
  }
  while (!idle()) TRY(step());
  std::vector<Completion> completions;
  for (RequestId id : ids) completions.push_back(take(id).value());
  return completions;
}

const model::Model& Engine::model() const { return *state_->model; }
std::shared_ptr<const text::Tokenizer> Engine::tokenizer() const { return state_->tokenizer; }
const std::filesystem::path& Engine::model_dir() const { return state_->model_dir; }
const std::vector<int32_t>& Engine::eos_token_ids() const {
  return state_->generation.eos_token_ids;
}
int64_t Engine::context() const { return state_->context; }
Device& Engine::device() { return *state_->opened.device; }
ops::OpTable& Engine::op_table() { return *state_->opened.table; }
const std::vector<std::string>& Engine::warnings() const { return state_->warnings; }

SamplingParams Engine::default_sampling() const {
  const io::GenerationConfig& generation = state_->generation;
  SamplingParams sampling;
  if (generation.do_sample && !*generation.do_sample) sampling.temperature = 0;
  if (generation.temperature) sampling.temperature = static_cast<float>(*generation.temperature);
  if (generation.top_k) sampling.top_k = *generation.top_k;
  if (generation.top_p) sampling.top_p = static_cast<float>(*generation.top_p);
  if (generation.min_p) sampling.min_p = static_cast<float>(*generation.min_p);
  if (generation.repetition_penalty) {
    sampling.repetition_penalty = static_cast<float>(*generation.repetition_penalty);
  }
  return sampling;
}

}  // namespace moe::engine
