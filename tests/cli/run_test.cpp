// moe run, driven as a program.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/json.hpp"
#include "io/safetensors.hpp"
#include "process.hpp"

namespace moe::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Json json_of(const std::string& text) { return parse_json(text, "output").value(); }

Json expectation(const std::string& model) {
  return json_of(read_file(fs::path(model) / "expect.json"));
}

std::string id_list(const Json& ids) {
  return fmt::format("{}", fmt::join(ids.get<std::vector<int32_t>>(), ","));
}

// The first recorded question of the bundled model and its answer.
struct Question {
  Question() {
    const Json entry = expectation(wordnet())["cases"][0];
    text = entry["question"].get<std::string>();
    answer = entry["answer"].get<std::string>();
    prompt_ids = entry["prompt_ids"];
    answer_ids = entry["answer_ids"];
  }
  std::string text, answer;
  Json prompt_ids, answer_ids;
};

// The longest recorded prompt of a model.
size_t longest_prompt(const Json& expected) {
  const Json& prompts = expected["prompts"];
  size_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].size() > prompts[longest].size()) longest = i;
  }
  return longest;
}

// Flags that give the small model its longest recorded prompt.
std::vector<std::string> fixture_run(std::vector<std::string> more = {}) {
  const std::string model = oracle_model("qwen3_moe_fixture");
  const Json expected = expectation(model);
  std::vector<std::string> arguments = {
      "run",           model,
      "--token-ids",   id_list(expected["prompts"][longest_prompt(expected)]),
      "--max-tokens",  "8",
      "--temperature", "0",
      "--format",      "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expect_failure(const Outcome& outcome, int status, const std::string& message) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(StartsWith("moe: "), HasSubstr(message), HasSubstr("\nfix: ")));
}

TEST(Run, JsonHasTheDocumentedShapeAndTheReferenceTokens) {
  const std::string model = oracle_model("qwen3_moe_fixture");
  const Outcome outcome = run(fixture_run());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  const Json expected = expectation(model);
  const size_t longest = longest_prompt(expected);
  const size_t prompt_tokens = expected["prompts"][longest].size();
  ASSERT_GT(prompt_tokens, 8u);
  EXPECT_EQ(
      outcome.out,
      fmt::format("{{\"token_ids\":[{}],\"text\":null,\"finish_reason\":\"length\",\"usage\":{{"
                  "\"prompt_tokens\":{},\"completion_tokens\":8,\"total_tokens\":{}}}}}\n",
                  id_list(expected["tokens"]["fp32"][longest]), prompt_tokens, prompt_tokens + 8));
}

TEST(Run, TextIsTheAnswerAndALineBreakAndNothingElse) {
  const Question question;
  const Outcome outcome = run({"run", wordnet(), "-p", question.text});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, question.answer + "\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Run, ModelDefaultsToTheBundledOne) {
  const Question question;
  EXPECT_EQ(run({"run", "-p", question.text}).out, question.answer + "\n");
}

TEST(Run, PromptComesFromStdinWithoutItsLastLineBreak) {
  const Question question;
  const std::vector<std::string> json = {"--format", "json", "--max-tokens", "1"};
  const auto prompt_tokens = [&](std::vector<std::string> arguments, const std::string& input) {
    arguments.insert(arguments.end(), json.begin(), json.end());
    return json_of(run(arguments, input).out)["usage"]["prompt_tokens"].get<size_t>();
  };
  const size_t count = prompt_tokens({"run", wordnet(), "-p", "lighthouse"}, "");
  EXPECT_EQ(prompt_tokens({"run", wordnet()}, "lighthouse"), count);
  EXPECT_EQ(prompt_tokens({"run", wordnet()}, "lighthouse\n"), count);
  EXPECT_EQ(prompt_tokens({"run", wordnet(), "-p", "-"}, "lighthouse\n"), count);
  EXPECT_GT(prompt_tokens({"run", wordnet()}, "lighthouse\n\n"), count);
  EXPECT_EQ(run({"run", wordnet()}, question.text + "\n").out, question.answer + "\n");
}

TEST(Run, RawTextAndIdsSkipTheTemplate) {
  const Question question;
  const std::string rendered =
      "<|im_start|>user\n" + question.text + "<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(run({"run", wordnet(), "--raw", "-p", rendered}).out, question.answer + "\n");
  EXPECT_EQ(run({"run", wordnet(), "--raw"}, rendered).out, question.answer + "\n");
  const std::string ids = id_list(question.prompt_ids);
  EXPECT_EQ(run({"run", wordnet(), "--token-ids", ids}).out, question.answer + "\n");
  EXPECT_EQ(run({"run", wordnet(), "--token-ids", "-"}, ids).out, question.answer + "\n");
}

TEST(Run, JsonOfTextHasIdsTextAndReason) {
  const Question question;
  const Json json = json_of(run({"run", wordnet(), "-p", question.text, "--format", "json"}).out);
  EXPECT_EQ(json["token_ids"], question.answer_ids);
  EXPECT_EQ(json["text"], question.answer);
  EXPECT_EQ(json["finish_reason"], "stop");
  EXPECT_EQ(json["usage"]["prompt_tokens"], question.prompt_ids.size());
}

TEST(Run, SystemMessageReachesTheTemplate) {
  const auto prompt_tokens = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",      wordnet(), "-p",           "Define harbor.",
                                          "--format", "json",    "--max-tokens", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json_of(run(arguments).out)["usage"]["prompt_tokens"].get<int>();
  };
  EXPECT_GT(prompt_tokens({"--system", "Be brief."}), prompt_tokens({}) + 4);
}

TEST(Run, LogprobsAreReportedWhereAskedFor) {
  const Json json = json_of(run(fixture_run({"--logprobs", "3"})).out);
  ASSERT_EQ(json["logprobs"].size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const Json& position = json["logprobs"][i];
    EXPECT_EQ(position["token_id"], json["token_ids"][i]);
    EXPECT_EQ(position["rank"], 1);
    EXPECT_LT(position["logprob"].get<double>(), 0);
    ASSERT_EQ(position["top"].size(), 3u);
    EXPECT_EQ(position["top"][0]["token_id"], position["token_id"]);
    EXPECT_EQ(position["top"][0]["logprob"], position["logprob"]);
  }
}

TEST(Run, SamplingFlagsReachTheSampler) {
  const auto tokens = [](const std::vector<std::string>& more) {
    return json_of(run(fixture_run(more)).out)["token_ids"];
  };
  const Json greedy = tokens({});
  // The later --temperature is refused, so a hot run has its own list.
  const std::string model = oracle_model("qwen3_moe_fixture");
  const auto hot = [&](const std::string& seed) {
    return json_of(run({"run", model, "--token-ids", "1,2,3", "--max-tokens", "8", "--temperature",
                        "2", "--seed", seed, "--format", "json"})
                       .out)["token_ids"];
  };
  EXPECT_EQ(hot("1"), hot("1"));
  EXPECT_NE(hot("1"), hot("2"));
  const std::string first = std::to_string(greedy[0].get<int>());
  EXPECT_NE(tokens({"--logit-bias", first + "=-100"})[0], greedy[0]);
  const Json stopped = tokens({"--stop-token-id", first});
  EXPECT_EQ(stopped.size(), 1u);
}

TEST(Run, StopTextEndsTheAnswer) {
  const Question question;
  const size_t at = question.answer.find("2.");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(
      run({"run", wordnet(), "-p", question.text, "--stop", "never there", "--stop", "2."}).out,
      question.answer.substr(0, at) + "\n");
}

TEST(Run, OpStatsShowTheNativeExpertChain) {
  const Outcome outcome = run(fixture_run({"--op-stats"}));
  EXPECT_EQ(outcome.status, 0);
  for (const char* op : {"kMoeGroupedGemmBf16GateUpSilu", "kMoeGroupedGemmBf16Weighted",
                         "kMoeCombinePreweighted", "kRouterTopK"}) {
    EXPECT_THAT(outcome.err, HasSubstr(op));
  }
  EXPECT_THAT(outcome.err, HasSubstr("expert chain: native\n"));
  const Outcome without =
      run(fixture_run({"--op-stats", "--disable-op", "kMoeCombinePreweighted"}));
  EXPECT_EQ(without.status, 0);
  EXPECT_THAT(without.err, AllOf(HasSubstr("expert chain: legacy\n"),
                                 HasSubstr("native refused 1 x, kMoeCombinePreweighted")));
  EXPECT_THAT(run(fixture_run({"--op-stats", "--numerics", "legacy"})).err,
              HasSubstr("expert chain: legacy\n"));
}

TEST(Run, SavedLogitsCoverEveryPositionButTheLastToken) {
  const Scratch scratch;
  const fs::path path = scratch / "logits.safetensors";
  const Outcome outcome =
      run(fixture_run({"--save-logits", path.string(), "--prefill-chunk", "5"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_of(outcome.out);
  const auto file = io::SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const io::TensorInfo* logits = file->find("logits");
  ASSERT_NE(logits, nullptr);
  EXPECT_EQ(logits->type, io::StoredType::kF32);
  ASSERT_EQ(logits->shape.size(), 2u);
  const int64_t prompt = json["usage"]["prompt_tokens"].get<int64_t>();
  ASSERT_EQ(logits->shape[0], prompt + 7);
  const int64_t vocab = logits->shape[1];
  const auto* values = reinterpret_cast<const float*>(logits->data);
  for (int64_t i = 0; i < 8; ++i) {
    const float* row = values + (prompt - 1 + i) * vocab;
    EXPECT_EQ(std::max_element(row, row + vocab) - row,
              json["token_ids"][static_cast<size_t>(i)].get<int64_t>());
  }
}

TEST(Run, AnUnwritableLogitsFileFailsBeforeTheWork) {
  expect_failure(run(fixture_run({"--save-logits", "/nonexistent/x.safetensors"})), 2,
                 "/nonexistent/x.safetensors: cannot write");
  expect_failure(run(fixture_run({"--save-logits", "/tmp"})), 2, "it is a folder");
}

TEST(Run, VerboseTellsTimesOnStderrOnly) {
  const Outcome outcome = run(fixture_run({"-v"}));
  EXPECT_THAT(outcome.out, StartsWith("{\"token_ids\""));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("tokens/s"), HasSubstr("Qwen3MoeForCausalLM")));
}

TEST(Run, BadInputIsAnErrorWithItsExitStatus) {
  const std::string fixture = oracle_model("qwen3_moe_fixture");
  expect_failure(run({"run", "/nonexistent", "-p", "x"}), 3, "/nonexistent");
  expect_failure(run({"run", "--no-such-flag"}), 2, "--no-such-flag");
  expect_failure(run({"run", fixture, "--token-ids", "1,x"}), 2, "entry 2 is \"x\"");
  const Outcome unknown_id = run({"run", fixture, "--token-ids", "1,99999999", "--format", "json"});
  EXPECT_EQ(unknown_id.status, 2);
  EXPECT_THAT(unknown_id.err, AllOf(StartsWith("moe: "), HasSubstr("99999999")));
  expect_failure(run({"run", fixture, "--token-ids", "1"}), 5, "tokenizer.json");
  expect_failure(run({"run", fixture, "-p", "x", "--format", "json"}), 5, "tokenizer.json");
  expect_failure(run({"run", fixture, "--token-ids", "1", "-p", "x"}), 2, "do not go together");
  expect_failure(run({"run", wordnet(), "--raw", "--system", "x", "-p", "x"}), 2,
                 "do not go together");
  expect_failure(run({"run", wordnet(), "-p", "x", "--logprobs", "1"}), 2, "--logprobs");
  expect_failure(run({"run", wordnet(), "-p", "x", "--temperature", "3"}), 2, "temperature is 3");
  expect_failure(run({"run", wordnet(), "-p", "x", "--temperature", "hot"}), 2, "hot");
  expect_failure(run({"run", wordnet(), "-p", "x", "--max-tokens", "0"}), 2, "--max-tokens is 0");
  expect_failure(run({"run", wordnet(), "-p", "x", "--threads", "-1"}), 2, "threads is -1");
  expect_failure(run({"run", wordnet(), "-p", "x", "--device", "toaster"}), 3, "toaster");
  expect_failure(run({"run", wordnet(), "-p", "x", "--logit-bias", "5"}), 2, "ID=VALUE");
  expect_failure(run({"run", wordnet(), "-p", "\xff"}), 2, "UTF-8");
}

TEST(Run, APromptThatFillsTheContextIsRefusedAndOneTokenLessIsAnswered) {
  const std::string fixture = oracle_model("qwen3_moe_fixture");
  const std::vector<std::string> context = {"run",      fixture, "--context",  "16",
                                            "--format", "json",  "--token-ids"};
  std::vector<std::string> full = context;
  full.push_back("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  expect_failure(run(full), 2, "the prompt has 16 tokens");
  std::vector<std::string> fits = context;
  fits.push_back("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  const Json json = json_of(run(fits).out);
  EXPECT_EQ(json["usage"]["completion_tokens"], 1);
  EXPECT_EQ(json["finish_reason"], "length");
}

TEST(Run, AClosedPipeEndsQuietly) {
  Process process({"run", wordnet(), "-p", "Define harbor."});
  process.close_output();
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(Run, AFullDiskIsAnError) {
  Process process({"run", wordnet(), "-p", "Define harbor."}, {"/dev/full", false});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write to stdout"));
}

TEST(Run, CtrlCStopsTheAnswer) {
  // The scalar references, so that the answer takes long enough to be stopped.
  Process process({"run", wordnet(), "-p", "Define harbor.", "--ignore-eos", "--max-tokens", "2000",
                   "--cpu-isa", "ref"});
  ASSERT_TRUE(process.read_some());
  process.interrupt();
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, testing::EndsWith("\n"));
}

}  // namespace
}  // namespace moe::cli_test
