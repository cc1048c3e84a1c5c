// The C interface: checks pointers, converts values, and turns errors and exceptions into codes.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/errors.hpp"
#include "moe/moe.h"
#include "moe/moe.hpp"

struct moe_model {
  moe::Model model;
};

namespace moe {
namespace {

struct LastError {
  Error error;
  moe_error view = {MOE_OK, "", ""};
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

moe_status fail(Error error) {
  LastError& last = last_error();
  last.error = std::move(error);
  const auto status = static_cast<moe_status>(exit_status_of(last.error.code));
  last.view = {status, last.error.message.c_str(), last.error.fix.c_str()};
  return status;
}

// For failures where there may be no memory for text.
moe_status fail_plainly(moe_status status, const char* message) noexcept {
  last_error().view = {status, message, ""};
  return status;
}

// Runs `body` (returning Status) and keeps every exception inside the library.
template <class Body>
moe_status guarded(Body&& body) noexcept {
  try {
    Status status = body();
    return status.ok() ? MOE_OK : fail(std::move(status).error());
  } catch (const std::bad_alloc&) {
    return fail_plainly(MOE_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return fail_plainly(MOE_INTERNAL, "unexpected exception; this is a bug in moe.cpp");
  }
}

Status not_null(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return invalid_argument(fmt::format("{} is a null pointer", name), "pass a valid pointer");
}

// An array may be null when it has no elements.
Status valid_array(const void* pointer, size_t count, const char* name) {
  return count == 0 ? Status() : not_null(pointer, name);
}

Status same_size(size_t got, size_t wanted, const char* name, const char* init) {
  if (got == wanted) return {};
  return invalid_argument(
      fmt::format("{}.size is {}, this library has {}", name, got, wanted),
      fmt::format("initialise it with {} and build against this library's header", init));
}

// Memory that moe_free() frees; one element at least, so that it is never null.
template <class T>
T* copy_out(const T* values, size_t count) {
  auto* memory = static_cast<T*>(std::malloc((count + 1) * sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  if (count > 0) std::memcpy(memory, values, count * sizeof(T));
  memory[count] = T{};
  return memory;
}

void hand_out(const std::vector<int32_t>& source, int32_t** ids, size_t* count) {
  *ids = copy_out(source.data(), source.size());
  *count = source.size();
}

Result<Sampling> to_sampling(const moe_sampling& from) {
  TRY(same_size(from.size, sizeof(moe_sampling), "sampling", "moe_sampling_init"));
  TRY(valid_array(from.stop, from.stop_count, "sampling.stop"));
  TRY(valid_array(from.stop_token_ids, from.stop_token_count, "sampling.stop_token_ids"));
  Sampling sampling;
  sampling.temperature = from.temperature;
  sampling.top_k = from.top_k;
  sampling.top_p = from.top_p;
  sampling.min_p = from.min_p;
  sampling.repetition_penalty = from.repetition_penalty;
  sampling.presence_penalty = from.presence_penalty;
  sampling.frequency_penalty = from.frequency_penalty;
  if (from.has_seed != 0) sampling.seed = from.seed;
  sampling.max_tokens = from.max_tokens;
  sampling.min_tokens = from.min_tokens;
  sampling.ignore_eos = from.ignore_eos != 0;
  for (size_t i = 0; i < from.stop_count; ++i) {
    TRY(not_null(from.stop[i], "an entry of sampling.stop"));
    sampling.stop.emplace_back(from.stop[i]);
  }
  sampling.stop_token_ids.assign(from.stop_token_ids, from.stop_token_ids + from.stop_token_count);
  return sampling;
}

Result<LoadOptions> to_load_options(const moe_load_options& from) {
  TRY(same_size(from.size, sizeof(moe_load_options), "options", "moe_load_options_init"));
  LoadOptions options;
  if (from.device != nullptr) options.device = from.device;
  if (from.cpu_isa != nullptr) options.device_options.cpu_isa = from.cpu_isa;
  options.device_options.threads = from.threads;
  options.numerics = from.legacy_numerics != 0 ? Numerics::kLegacy : Numerics::kNative;
  options.context = from.context;
  options.kv_tokens = from.kv_tokens;
  options.prefill_chunk = from.prefill_chunk;
  options.max_sequences = from.max_sequences;
  if (from.on_progress != nullptr) {
    options.on_progress = [call = from.on_progress, user = from.user](
                              uint64_t done, uint64_t total) { call(done, total, user); };
  }
  return options;
}

// What callers see, with the memory that it points into.
struct OwnedCompletion : moe_completion {
  Completion kept;
  std::string error_text;
};

struct OwnedDevices : moe_device_list {
  std::vector<DeviceInfo> infos;
  std::vector<moe_device> rows;
};

moe_completion* hand_out(Completion completion) {
  auto owned = std::make_unique<OwnedCompletion>();
  owned->kept = std::move(completion);
  const Completion& kept = owned->kept;
  owned->tokens = kept.tokens.data();
  owned->token_count = kept.tokens.size();
  owned->text = kept.text.c_str();
  owned->text_bytes = kept.text.size();
  owned->finish_reason = kept.finish_reason.c_str();
  if (kept.error) owned->error_text = kept.error->to_string();
  owned->error = kept.error ? owned->error_text.c_str() : nullptr;
  owned->prompt_tokens = kept.prompt_tokens;
  owned->seed = kept.seed;
  owned->prefill_seconds = kept.prefill_seconds;
  owned->decode_seconds = kept.decode_seconds;
  return owned.release();
}

}  // namespace
}  // namespace moe

const moe_error* moe_last_error(void) { return &moe::last_error().view; }

const char* moe_status_name(moe_status status) {
  for (int code = 0; code <= static_cast<int>(moe::ErrorCode::kInternal); ++code) {
    const auto value = static_cast<moe::ErrorCode>(code);
    // Names are literals, so they end with a zero.
    if (moe::exit_status_of(value) == static_cast<int>(status)) return moe::name_of(value).data();
  }
  return status == MOE_OK ? "ok" : "unknown";
}

const char* moe_version(void) { return moe::version().data(); }
void moe_free(void* memory) { std::free(memory); }

moe_status moe_devices(moe_device_list** list) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(list, "list"));
    *list = nullptr;
    auto owned = std::make_unique<moe::OwnedDevices>();
    owned->infos = TRY(moe::devices());
    for (const moe::DeviceInfo& info : owned->infos) {
      owned->rows.push_back({info.name.c_str(), info.usable ? 1 : 0, info.detail.c_str(),
                             info.architecture.c_str(), info.threads, info.memory_bytes});
    }
    owned->count = owned->rows.size();
    owned->devices = owned->rows.data();
    *list = owned.release();
    return {};
  });
}

void moe_device_list_free(moe_device_list* list) { delete static_cast<moe::OwnedDevices*>(list); }

void moe_load_options_init(moe_load_options* options) {
  if (options == nullptr) return;
  const moe::LoadOptions defaults;
  *options = {};
  options->size = sizeof(moe_load_options);
  options->prefill_chunk = defaults.prefill_chunk;
  options->max_sequences = defaults.max_sequences;
}

moe_status moe_model_load(const char* folder, const moe_load_options* options, moe_model** model) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(model, "model"));
    *model = nullptr;
    TRY(moe::not_null(folder, "folder"));
    moe::LoadOptions load_options;
    if (options != nullptr) load_options = TRY(moe::to_load_options(*options));
    // Not inside the new expression: an early return there would leak.
    moe::Model loaded = TRY(moe::Model::load(folder, load_options));
    *model = new moe_model{std::move(loaded)};
    return {};
  });
}

void moe_model_free(moe_model* model) { delete model; }

moe_status moe_model_describe(const moe_model* model, moe_model_info* info) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(model, "model"));
    TRY(moe::not_null(info, "info"));
    TRY(moe::same_size(info->size, sizeof(moe_model_info), "info", "sizeof(moe_model_info)"));
    const moe::ModelInfo& from = model->model.info();
    info->architecture = from.architecture.c_str();
    info->device = from.device.c_str();
    info->expert_numerics = from.expert_numerics.c_str();
    info->parameters = from.parameters;
    info->active_parameters = from.active_parameters;
    info->vocab_size = from.vocab_size;
    info->context = from.context;
    info->has_tokenizer = from.has_tokenizer ? 1 : 0;
    info->has_chat_template = from.has_chat_template ? 1 : 0;
    return {};
  });
}

moe_status moe_tokenize(const moe_model* model, const char* text, size_t text_bytes,
                        int add_special_tokens, int parse_special_tokens, int32_t** ids,
                        size_t* count) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(model, "model"));
    TRY(moe::valid_array(text, text_bytes, "text"));
    TRY(moe::not_null(ids, "ids"));
    TRY(moe::not_null(count, "count"));
    const moe::TokenizeOptions options{add_special_tokens != 0, parse_special_tokens != 0};
    moe::hand_out(TRY(model->model.tokenize({text, text_bytes}, options)), ids, count);
    return {};
  });
}

moe_status moe_detokenize(const moe_model* model, const int32_t* ids, size_t count,
                          int skip_special_tokens, char** text, size_t* text_bytes) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(model, "model"));
    TRY(moe::valid_array(ids, count, "ids"));
    TRY(moe::not_null(text, "text"));
    const std::string decoded =
        TRY(model->model.detokenize({ids, count}, skip_special_tokens != 0));
    *text = moe::copy_out(decoded.data(), decoded.size());
    if (text_bytes != nullptr) *text_bytes = decoded.size();
    return {};
  });
}

moe_status moe_chat_prompt(const moe_model* model, const moe_message* messages,
                           size_t message_count, int add_generation_prompt, int32_t** ids,
                           size_t* count) {
  return moe::guarded([&]() -> moe::Status {
    TRY(moe::not_null(model, "model"));
    TRY(moe::valid_array(messages, message_count, "messages"));
    TRY(moe::not_null(ids, "ids"));
    TRY(moe::not_null(count, "count"));
    std::vector<moe::ChatMessage> list;
    for (size_t i = 0; i < message_count; ++i) {
      TRY(moe::not_null(messages[i].role, "messages[].role"));
      TRY(moe::not_null(messages[i].content, "messages[].content"));
      list.push_back({messages[i].role, messages[i].content});
    }
    moe::ChatOptions options;
    options.add_generation_prompt = add_generation_prompt != 0;
    moe::hand_out(TRY(model->model.chat_prompt(list, options)), ids, count);
    return {};
  });
}

void moe_sampling_init(const moe_model* model, moe_sampling* sampling) {
  if (sampling == nullptr) return;
  const moe::Sampling from = model != nullptr ? model->model.default_sampling() : moe::Sampling();
  *sampling = {};
  sampling->size = sizeof(moe_sampling);
  sampling->temperature = from.temperature;
  sampling->top_k = from.top_k;
  sampling->top_p = from.top_p;
  sampling->min_p = from.min_p;
  sampling->repetition_penalty = from.repetition_penalty;
  sampling->presence_penalty = from.presence_penalty;
  sampling->frequency_penalty = from.frequency_penalty;
  sampling->max_tokens = from.max_tokens;
  sampling->min_tokens = from.min_tokens;
}

moe_status moe_generate(moe_model* model, const int32_t* prompt, size_t prompt_count,
                        const moe_sampling* sampling, moe_piece_callback on_piece, void* user,
                        moe_completion** completion) {
  return moe::guarded([&]() -> moe::Status {
    if (completion != nullptr) *completion = nullptr;
    TRY(moe::not_null(model, "model"));
    TRY(moe::valid_array(prompt, prompt_count, "prompt"));
    moe::Request request;
    request.prompt.assign(prompt, prompt + prompt_count);
    request.sampling = model->model.default_sampling();
    if (sampling != nullptr) request.sampling = TRY(moe::to_sampling(*sampling));
    if (on_piece != nullptr) {
      request.on_piece = [on_piece, user](const moe::Piece& piece) {
        const std::string text(piece.text);
        return on_piece(piece.token, text.c_str(), text.size(), user) != 0;
      };
    }
    moe::Completion answer = TRY(model->model.generate(std::move(request)));
    if (completion != nullptr) *completion = moe::hand_out(std::move(answer));
    return {};
  });
}

void moe_completion_free(moe_completion* completion) {
  delete static_cast<moe::OwnedCompletion*>(completion);
}
