/* The C interface of moe.cpp (C11), a thin layer over moe/moe.hpp.
 *
 * Errors: a function that can fail returns a moe_status; moe_last_error() of the same thread then
 * has the message and what to do about it. No exception leaves a function.
 * Ownership: what a function hands out is freed with the function named beside it; strings inside
 * a struct live as long as the struct. Input is copied before the call returns.
 * Threads: as moe/moe.hpp: any thread; moe_generate() calls on one model wait for each other, and
 * its callback must not call moe_generate() on the same model.
 * Options: initialise them with their _init function, then change fields; size tells the library
 * which version of the struct the caller was built with. */
#ifndef MOE_MOE_H_
#define MOE_MOE_H_

#include <stddef.h>
#include <stdint.h>

#include "moe/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum moe_status {
  MOE_OK = 0,
  MOE_INVALID_ARGUMENT = 2, /* the values are the program's exit statuses: docs/errors.md */
  MOE_NOT_FOUND = 3,
  MOE_CORRUPT = 4,
  MOE_UNSUPPORTED = 5,
  MOE_OUT_OF_MEMORY = 6,
  MOE_OVERLOADED = 7,
  MOE_CANCELLED = 8,
  MOE_DEADLINE = 9,
  MOE_INTERNAL = 10
} moe_status;

typedef struct moe_error {
  moe_status status;
  const char* message; /* what, where, got and wanted; never null */
  const char* fix;     /* what to do; may be empty */
} moe_error;

/* The last error of the calling thread; valid until its next call that fails. */
MOE_API const moe_error* moe_last_error(void);
/* "invalid_argument" and so on; static. */
MOE_API const char* moe_status_name(moe_status status);
/* "0.1.0"; static. */
MOE_API const char* moe_version(void);
/* Frees ids and texts that functions below hand out. Null is fine. */
MOE_API void moe_free(void* memory);

/* ---------------------------------------------------------------------------------- devices */

typedef struct moe_device {
  const char* name;         /* for moe_load_options.device */
  int usable;               /* 0 or 1 */
  const char* detail;       /* what it is, or why it cannot be used and the fix */
  const char* architecture; /* empty unless usable */
  int threads;
  uint64_t memory_bytes; /* 0 = not known */
} moe_device;

typedef struct moe_device_list {
  size_t count;
  const moe_device* devices;
} moe_device_list;

/* Free *list with moe_device_list_free(). */
MOE_API moe_status moe_devices(moe_device_list** list);
MOE_API void moe_device_list_free(moe_device_list* list);

/* ------------------------------------------------------------------------------------ model */

typedef struct moe_model moe_model;

typedef struct moe_load_options {
  size_t size;
  const char* device;    /* null = "auto" */
  const char* cpu_isa;   /* null = the best */
  int threads;           /* 0 = all allowed cores */
  int legacy_numerics;   /* 0 = native where possible */
  int64_t context;       /* tokens; 0 = the model's, at most 32768 */
  int64_t kv_tokens;     /* 0 = one context, at least 4096 */
  int64_t prefill_chunk; /* tokens */
  int64_t max_sequences;
  /* Called with bytes done and in total while weights are read. May be null. */
  void (*on_progress)(uint64_t done_bytes, uint64_t total_bytes, void* user);
  void* user;
} moe_load_options;

MOE_API void moe_load_options_init(moe_load_options* options);

/* options may be null. Free *model with moe_model_free(). */
MOE_API moe_status moe_model_load(const char* folder, const moe_load_options* options,
                                  moe_model** model);
MOE_API void moe_model_free(moe_model* model);

typedef struct moe_model_info {
  size_t size; /* set by the caller: sizeof(moe_model_info) */
  const char* architecture;
  const char* device;
  const char* expert_numerics; /* "native", "legacy" or "none" */
  uint64_t parameters;
  uint64_t active_parameters; /* 0 = not known */
  int64_t vocab_size;
  int64_t context; /* tokens of prompt and answer */
  int has_tokenizer;
  int has_chat_template;
} moe_model_info;

/* Strings live as long as the model. */
MOE_API moe_status moe_model_describe(const moe_model* model, moe_model_info* info);

/* ------------------------------------------------------------------------------------- text */

/* text: UTF-8, not necessarily ended by a zero. Free *ids with moe_free(). */
MOE_API moe_status moe_tokenize(const moe_model* model, const char* text, size_t text_bytes,
                                int add_special_tokens, int parse_special_tokens, int32_t** ids,
                                size_t* count);
/* *text ends with a zero that *text_bytes (may be null) does not count. Free it with moe_free(). */
MOE_API moe_status moe_detokenize(const moe_model* model, const int32_t* ids, size_t count,
                                  int skip_special_tokens, char** text, size_t* text_bytes);

typedef struct moe_message {
  const char* role; /* "system", "user", "assistant" */
  const char* content;
} moe_message;

/* The ids of a prompt, by the folder's chat template. Free *ids with moe_free(). */
MOE_API moe_status moe_chat_prompt(const moe_model* model, const moe_message* messages,
                                   size_t message_count, int add_generation_prompt, int32_t** ids,
                                   size_t* count);

/* ---------------------------------------------------------------------------------- answers */

typedef struct moe_sampling {
  size_t size;
  float temperature; /* 0 = the most likely token */
  int32_t top_k;
  float top_p;
  float min_p;
  float repetition_penalty;
  float presence_penalty;
  float frequency_penalty;
  int has_seed; /* 0 = a random seed */
  uint64_t seed;
  int64_t max_tokens; /* 0 = up to the end of the context */
  int64_t min_tokens;
  int ignore_eos;
  const char* const* stop; /* texts that end the answer; may be null when stop_count is 0 */
  size_t stop_count;
  const int32_t* stop_token_ids;
  size_t stop_token_count;
} moe_sampling;

/* What the model's generation_config.json asks for. model may be null: plain defaults. */
MOE_API void moe_sampling_init(const moe_model* model, moe_sampling* sampling);

/* Called for every token with the text that became certain (UTF-8, ended by a zero, often empty),
 * and once more when the end of the answer sets held-back text free.
 * Returning 0 stops the answer. */
typedef int (*moe_piece_callback)(int32_t token, const char* text, size_t text_bytes, void* user);

typedef struct moe_completion {
  const int32_t* tokens; /* with the one that ended the answer */
  size_t token_count;
  const char* text;
  size_t text_bytes;
  const char* finish_reason; /* "stop", "length", "abort" or "error" */
  const char* error;         /* with "error": what went wrong; else null */
  int64_t prompt_tokens;
  uint64_t seed; /* the one that was used */
  double prefill_seconds;
  double decode_seconds;
} moe_completion;

/* sampling may be null (the model's), on_piece too. Free *completion (may be null: not wanted)
 * with moe_completion_free(). */
MOE_API moe_status moe_generate(moe_model* model, const int32_t* prompt, size_t prompt_count,
                                const moe_sampling* sampling, moe_piece_callback on_piece,
                                void* user, moe_completion** completion);
MOE_API void moe_completion_free(moe_completion* completion);

#ifdef __cplusplus
}
#endif

#endif /* MOE_MOE_H_ */
