// The C interface: values, ownership, and every pointer that may not be null.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "moe/moe.h"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string wordnet() { return (fs::path(MOE_SOURCE_DIR) / "models/wordnet-moe").string(); }

class CApi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(moe_model_load(wordnet().c_str(), nullptr, &model_), MOE_OK);
  }
  static void TearDownTestSuite() {
    moe_model_free(model_);
    model_ = nullptr;
  }
  static moe_model* model_;
};
moe_model* CApi::model_ = nullptr;

TEST_F(CApi, DescribesTheModel) {
  moe_model_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(moe_model_describe(model_, &info), MOE_OK);
  EXPECT_STREQ(info.architecture, "Qwen3MoeForCausalLM");
  EXPECT_STREQ(info.expert_numerics, "native");
  EXPECT_EQ(info.vocab_size, 8192);
  EXPECT_EQ(info.has_chat_template, 1);
  info.size = 1;
  EXPECT_EQ(moe_model_describe(model_, &info), MOE_INVALID_ARGUMENT);
  EXPECT_THAT(moe_last_error()->message, HasSubstr("info.size is 1"));
}

TEST_F(CApi, TextGoesThereAndBack) {
  int32_t* ids = nullptr;
  size_t count = 0;
  ASSERT_EQ(moe_tokenize(model_, "Define harbor.xx", 14, 1, 1, &ids, &count), MOE_OK);
  EXPECT_EQ(count, 4u);
  char* text = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(moe_detokenize(model_, ids, count, 1, &text, &bytes), MOE_OK);
  EXPECT_STREQ(text, "Define harbor.");
  EXPECT_EQ(bytes, 14u);
  moe_free(text);
  moe_free(ids);
  ASSERT_EQ(moe_tokenize(model_, nullptr, 0, 1, 1, &ids, &count), MOE_OK);
  EXPECT_EQ(count, 0u);
  moe_free(ids);
}

int keep_text(int32_t, const char* text, size_t bytes, void* user) {
  EXPECT_EQ(std::strlen(text), bytes);
  static_cast<std::string*>(user)->append(text, bytes);
  return 1;
}
int stop_at_once(int32_t, const char*, size_t, void*) { return 0; }

TEST_F(CApi, GeneratesWithAndWithoutACallback) {
  const moe_message message = {"user", "Define harbor."};
  int32_t* prompt = nullptr;
  size_t count = 0;
  ASSERT_EQ(moe_chat_prompt(model_, &message, 1, 1, &prompt, &count), MOE_OK);
  ASSERT_EQ(count, 12u);
  std::string streamed;
  moe_completion* completion = nullptr;
  ASSERT_EQ(moe_generate(model_, prompt, count, nullptr, keep_text, &streamed, &completion),
            MOE_OK);
  EXPECT_THAT(streamed, HasSubstr("sheltered port"));
  EXPECT_EQ(streamed, std::string(completion->text, completion->text_bytes));
  EXPECT_STREQ(completion->finish_reason, "stop");
  EXPECT_EQ(completion->prompt_tokens, 12);
  EXPECT_EQ(completion->tokens[completion->token_count - 1], 8191);
  moe_completion_free(completion);

  moe_sampling sampling;
  moe_sampling_init(model_, &sampling);
  EXPECT_EQ(sampling.max_tokens, 256);
  const char* stops[] = {"sheltered"};
  sampling.stop = stops;
  sampling.stop_count = 1;
  ASSERT_EQ(moe_generate(model_, prompt, count, &sampling, nullptr, nullptr, &completion), MOE_OK);
  EXPECT_STREQ(completion->text, "harbor:\n1. (noun) a ");
  moe_completion_free(completion);
  ASSERT_EQ(moe_generate(model_, prompt, count, nullptr, stop_at_once, nullptr, &completion),
            MOE_OK);
  EXPECT_STREQ(completion->finish_reason, "abort");
  EXPECT_EQ(completion->token_count, 1u);
  moe_completion_free(completion);
  EXPECT_EQ(moe_generate(model_, prompt, count, &sampling, nullptr, nullptr, nullptr), MOE_OK);
  moe_free(prompt);
}

TEST_F(CApi, NullPointersAreErrorsNotCrashes) {
  int32_t* ids = nullptr;
  size_t count = 0;
  char* text = nullptr;
  const moe_message no_role = {nullptr, "x"};
  const moe_message no_content = {"user", nullptr};
  moe_model_info info = {};
  moe_sampling sampling;
  moe_sampling_init(nullptr, &sampling);
  moe_sampling no_stops = sampling;
  no_stops.stop_count = 1;
  moe_sampling unsized = sampling;
  unsized.size = 0;
  const int32_t prompt = 1;
  moe_model* other = nullptr;
  const moe_status statuses[] = {
      moe_devices(nullptr),
      moe_model_load(nullptr, nullptr, &other),
      moe_model_load("x", nullptr, nullptr),
      moe_model_describe(nullptr, &info),
      moe_tokenize(nullptr, "x", 1, 1, 1, &ids, &count),
      moe_detokenize(nullptr, &prompt, 1, 1, &text, nullptr),
      moe_chat_prompt(nullptr, &no_role, 1, 1, &ids, &count),
      moe_generate(nullptr, &prompt, 1, nullptr, nullptr, nullptr, nullptr),
  };
  for (const moe_status status : statuses) EXPECT_EQ(status, MOE_INVALID_ARGUMENT);
  const moe_status with_model[] = {
      moe_model_describe(model_, nullptr),
      moe_tokenize(model_, nullptr, 1, 1, 1, &ids, &count),
      moe_tokenize(model_, "x", 1, 1, 1, nullptr, &count),
      moe_tokenize(model_, "x", 1, 1, 1, &ids, nullptr),
      moe_detokenize(model_, nullptr, 1, 1, &text, nullptr),
      moe_detokenize(model_, &prompt, 1, 1, nullptr, nullptr),
      moe_chat_prompt(model_, nullptr, 1, 1, &ids, &count),
      moe_chat_prompt(model_, &no_role, 1, 1, &ids, &count),
      moe_chat_prompt(model_, &no_content, 1, 1, &ids, &count),
      moe_chat_prompt(model_, nullptr, 0, 1, &ids, &count),
      moe_generate(model_, nullptr, 1, nullptr, nullptr, nullptr, nullptr),
      moe_generate(model_, &prompt, 0, nullptr, nullptr, nullptr, nullptr),
      moe_generate(model_, &prompt, 1, &no_stops, nullptr, nullptr, nullptr),
      moe_generate(model_, &prompt, 1, &unsized, nullptr, nullptr, nullptr),
  };
  for (const moe_status status : with_model) {
    EXPECT_EQ(status, MOE_INVALID_ARGUMENT);
  }
  EXPECT_NE(moe_last_error()->message[0], '\0');
  moe_model_free(nullptr);
  moe_completion_free(nullptr);
  moe_device_list_free(nullptr);
  moe_free(nullptr);
  moe_load_options_init(nullptr);
  moe_sampling_init(nullptr, nullptr);
}

TEST(CApiErrors, HaveCodeMessageAndFix) {
  moe_model* model = nullptr;
  EXPECT_EQ(moe_model_load("/nonexistent", nullptr, &model), MOE_NOT_FOUND);
  EXPECT_EQ(model, nullptr);
  const moe_error* error = moe_last_error();
  EXPECT_EQ(error->status, MOE_NOT_FOUND);
  EXPECT_THAT(error->message, HasSubstr("/nonexistent"));
  EXPECT_NE(error->fix[0], '\0');
  moe_load_options options;
  moe_load_options_init(&options);
  options.threads = 1000;
  EXPECT_EQ(moe_model_load(wordnet().c_str(), &options, &model), MOE_INVALID_ARGUMENT);
  options.threads = 0;
  options.device = "toaster";
  EXPECT_EQ(moe_model_load(wordnet().c_str(), &options, &model), MOE_NOT_FOUND);
  options.size = 3;
  EXPECT_EQ(moe_model_load(wordnet().c_str(), &options, &model), MOE_INVALID_ARGUMENT);
}

TEST(CApiErrors, EveryStatusHasItsName) {
  const std::pair<moe_status, const char*> names[] = {{MOE_OK, "ok"},
                                                      {MOE_INVALID_ARGUMENT, "invalid_argument"},
                                                      {MOE_NOT_FOUND, "not_found"},
                                                      {MOE_CORRUPT, "corrupt"},
                                                      {MOE_UNSUPPORTED, "unsupported"},
                                                      {MOE_OUT_OF_MEMORY, "out_of_memory"},
                                                      {MOE_OVERLOADED, "overloaded"},
                                                      {MOE_CANCELLED, "cancelled"},
                                                      {MOE_DEADLINE, "deadline"},
                                                      {MOE_INTERNAL, "internal"}};
  for (const auto& [status, name] : names) EXPECT_STREQ(moe_status_name(status), name);
}

TEST(CApiDevices, ListsWhatTheCppApiLists) {
  moe_device_list* list = nullptr;
  ASSERT_EQ(moe_devices(&list), MOE_OK);
  ASSERT_GT(list->count, 0u);
  bool usable = false;
  for (size_t i = 0; i < list->count; ++i) usable |= list->devices[i].usable == 1;
  EXPECT_TRUE(usable);
  moe_device_list_free(list);
  EXPECT_NE(std::strlen(moe_version()), 0u);
}

}  // namespace
