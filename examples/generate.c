/* Asks a model one question and streams its answer: the C interface.
 * usage: generate_c MODEL "question" */
#include <stdio.h>

#include "moe/moe.h"

static int fail(void) {
  const moe_error* error = moe_last_error();
  fprintf(stderr, "%s: %s\nfix: %s\n", moe_status_name(error->status), error->message, error->fix);
  return (int)error->status;
}

static int on_piece(int32_t token, const char* text, size_t text_bytes, void* user) {
  (void)token;
  (void)user;
  fwrite(text, 1, text_bytes, stdout);
  fflush(stdout);
  return 1;
}

static int answer(moe_model* model, const char* question) {
  const moe_message message = {"user", question};
  int32_t* prompt = NULL;
  size_t prompt_count = 0;
  if (moe_chat_prompt(model, &message, 1, 1, &prompt, &prompt_count) != MOE_OK) return fail();

  moe_sampling sampling;
  moe_sampling_init(model, &sampling);
  moe_completion* completion = NULL;
  const moe_status status =
      moe_generate(model, prompt, prompt_count, &sampling, on_piece, NULL, &completion);
  moe_free(prompt);
  if (status != MOE_OK) return fail();
  printf("\n");
  fprintf(stderr, "%zu tokens, ended by %s\n", completion->token_count, completion->finish_reason);
  moe_completion_free(completion);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL \"question\"\n", argv[0]);
    return 2;
  }
  moe_model* model = NULL;
  if (moe_model_load(argv[1], NULL, &model) != MOE_OK) return fail();
  const int status = answer(model, argv[2]);
  moe_model_free(model);
  return status;
}
