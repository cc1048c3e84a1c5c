// The other verbs, driven as a program.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/json.hpp"
#include "moe/error.hpp"
#include "process.hpp"

namespace moe::cli_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Json json_of(const std::string& text) { return parse_json(text, "output").value(); }

std::string recorded_answer(const std::string& question) {
  const Json file = json_of(read_file(fs::path(wordnet()) / "expect.json"));
  for (const Json& entry : file["cases"]) {
    if (entry["question"] == question) return entry["answer"].get<std::string>();
  }
  ADD_FAILURE() << question << " is not recorded";
  return {};
}

TEST(Program, HelpAndVersionGoToStdout) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, StartsWith("usage: moe"));
  EXPECT_THAT(run({"run", "--help"}).out, StartsWith("usage: moe run"));
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, AWrongCommandLineExitsWithTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"fly"},
                                                    {"inspect"},
                                                    {"tokenize"},
                                                    {"verify"},
                                                    {"run", "a", "b"},
                                                    {"devices", "--json=maybe"},
                                                    {"run", "--format", "xml", "-p", "x"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << (arguments.empty() ? "" : arguments[0]);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("moe: "), HasSubstr("\nfix: ")));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Program, TheErrorPageIsTheTableOfTheCode) {
  const std::string page = read_file(fs::path(MOE_SOURCE_DIR) / "docs/errors.md");
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const auto value = static_cast<ErrorCode>(code);
    std::string constant(name_of(value));
    for (char& c : constant) c = static_cast<char>(std::toupper(c));
    EXPECT_THAT(page,
                HasSubstr(fmt::format("| `{}` | {} | {} | `MOE_{}` |", name_of(value),
                                      exit_status_of(value), http_status_of(value), constant)));
  }
}

TEST(Program, EveryVerbHasAPage) {
  for (const char* verb : {"run", "chat", "tokenize", "inspect", "devices", "verify"}) {
    const std::string page =
        read_file(fs::path(MOE_SOURCE_DIR) / "docs/verbs" / fmt::format("{}.md", verb));
    EXPECT_THAT(page, StartsWith(fmt::format("# moe {}\n", verb)));
  }
}

TEST(Chat, MessagesOfAPipeAreAnsweredInTurn) {
  const std::string harbor = recorded_answer("Define harbor.");
  const Outcome outcome = run({"chat", wordnet()},
                              "Define harbor.\n\n/reset\n/help\n/what\nDefine harbor.\n/exit\nx\n");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, harbor + "\n" + harbor + "\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("/reset forgets"), HasSubstr("unknown command /what")));
}

TEST(Chat, HistoryIsKeptAndTheLastLineNeedsNoLineBreak) {
  const Outcome outcome = run({"chat", wordnet(), "-v"}, "Define harbor.\nDefine harbor.");
  EXPECT_EQ(outcome.status, 0);
  std::vector<int> used;
  for (size_t at = 0; (at = outcome.err.find(" tokens of the context", at)) != std::string::npos;
       ++at) {
    used.push_back(std::stoi(outcome.err.substr(outcome.err.rfind(' ', at - 1) + 1)));
  }
  ASSERT_EQ(used.size(), 2u) << outcome.err;
  EXPECT_GT(used[1], used[0] + 12);
}

TEST(Chat, OldTurnsAreDroppedOnlyAfterSayingSo) {
  const Outcome outcome = run({"chat", wordnet(), "--context", "120"},
                              "Define harbor.\nDefine harbor.\nDefine harbor.\n");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("its oldest turn is dropped"));
}

TEST(Chat, AMessageThatCannotFitIsAnErrorAndTheChatGoesOn) {
  std::string message = "word";
  for (int i = 0; i < 200; ++i) message += " word";
  const std::string harbor = recorded_answer("Define harbor.");
  const Outcome outcome =
      run({"chat", wordnet(), "--context", "120"}, message + "\nDefine harbor.\n");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("the context holds 120"));
  EXPECT_EQ(outcome.out, harbor + "\n");
}

TEST(Chat, CtrlCStopsTheAnswerThenTheProgram) {
  // The scalar references, so that the answer takes long enough to be stopped.
  Process process({"chat", wordnet(), "--ignore-eos", "--cpu-isa", "ref"}, {{}, true});
  process.write("Define harbor.\n");
  ASSERT_TRUE(process.wait_for("harbor"));
  process.interrupt();
  process.write("/help\n");
  // The program lives on and reads the next line.
  ASSERT_TRUE(process.wait_for("/reset forgets"));
  process.interrupt();
  EXPECT_EQ(process.wait().status, 130);
}

TEST(Tokenize, GivesIdsAndTakesThemBack) {
  const Outcome ids = run({"tokenize", wordnet(), "-p", "Define harbor.", "--ids-only"});
  EXPECT_EQ(ids.out, "525,2242,2383,13\n");
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "525,2242,2383,13"}).out, "Define harbor.\n");
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "-"}, ids.out).out, "Define harbor.\n");
  const Json json = json_of(run({"tokenize", wordnet(), "-p", "Define harbor.", "--json"}).out);
  EXPECT_EQ(json["ids"], Json({525, 2242, 2383, 13}));
  EXPECT_EQ(json["count"], 4);
  EXPECT_EQ(json["tokens"].size(), 4u);
  const Outcome listing = run({"tokenize", wordnet()}, "Define harbor.\n");
  EXPECT_THAT(listing.out, AllOf(HasSubstr("     525  "), EndsWith("4 tokens\n")));
}

TEST(Tokenize, SpecialTokensAreParsedUnlessPlain) {
  const std::string text = "<|im_end|>";
  EXPECT_EQ(run({"tokenize", wordnet(), "-p", text, "--ids-only"}).out, "8191\n");
  EXPECT_NE(run({"tokenize", wordnet(), "-p", text, "--ids-only", "--plain"}).out, "8191\n");
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "525,8191"}).out, "Define<|im_end|>\n");
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "525,8191", "--no-special"}).out, "Define\n");
}

TEST(Tokenize, BadInputIsAnError) {
  EXPECT_EQ(run({"tokenize", oracle_model("dense_qwen3"), "-p", "x"}).status, 3);
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "999999"}).status, 2);
  EXPECT_EQ(run({"tokenize", wordnet(), "--decode", "1", "-p", "x"}).status, 2);
  EXPECT_EQ(run({"tokenize", wordnet(), "--json", "--ids-only", "-p", "x"}).status, 2);
}

TEST(Inspect, ShowsPartsAndTotals) {
  const Outcome text = run({"inspect", wordnet()});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, AllOf(StartsWith("Qwen3MoeForCausalLM\n"), HasSubstr("18,874,368"),
                              HasSubstr("4,096 bytes per token")));
  const Json json = json_of(run({"inspect", wordnet(), "--json"}).out);
  EXPECT_EQ(json["runs_here"], true);
  EXPECT_EQ(json["kv_bytes_per_token"], 4096);
  EXPECT_EQ(run({"inspect", "/nonexistent"}).status, 3);
}

TEST(Inspect, ArchitecturesThatCannotRunAreListedAllTheSame) {
  const fs::path mixtral = fs::path(MOE_REFERENCE_DIR) / "oracle/models/gpt_oss";
  if (!fs::exists(mixtral)) GTEST_SKIP() << mixtral << " is not there";
  const Outcome outcome = run({"inspect", mixtral.string()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("GptOssForCausalLM"), HasSubstr("cannot run it"),
                                 HasSubstr("experts")));
}

TEST(Devices, TheCpuIsUsableAndOthersSayWhyNot) {
  const Outcome text = run({"devices"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("usable"), HasSubstr("kMoeGroupedGemmBf16")));
  const Json list =
      json_of(run({"devices", "--json", "--cpu-isa", "portable", "--disable-op", "kRope"}).out);
  bool cpu = false;
  for (const Json& device : list) {
    EXPECT_FALSE(device["detail"].get<std::string>().empty());
    if (device["name"] != "cpu") continue;
    cpu = true;
    for (const Json& op : device["ops"]) {
      EXPECT_EQ(op["variants"].empty(), op["op"] == "kRope") << op;
    }
  }
  EXPECT_TRUE(cpu);
  EXPECT_EQ(run({"devices", "--device", "toaster"}).status, 3);
}

TEST(Verify, RunsTheCasesOfAFolderAndWritesAReport) {
  const Scratch scratch;
  const std::string oracle = (fs::path(MOE_SOURCE_DIR) / "tests/data/oracle").string();
  const fs::path report = scratch / "report.json";
  const Outcome outcome = run({"verify", "--oracle", oracle, "--filter", "models/qwen3_moe_fixture",
                               "--report", report.string()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("PASS models/qwen3_moe_fixture"),
                                 EndsWith("2 passed, 0 failed, 0 skipped\n")));
  EXPECT_EQ(json_of(read_file(report))["passed"], 2);
  EXPECT_THAT(read_file(scratch / "report.md"), HasSubstr("2 passed"));
}

TEST(Verify, AFolderWithoutCasesFails) {
  const Scratch scratch;
  const Outcome outcome = run({"verify", "--oracle", (scratch / "").string()});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.out, "0 passed, 0 failed, 0 skipped\n");
  EXPECT_THAT(outcome.err, HasSubstr("no case found"));
}

TEST(Verify, AReportThatCannotBeWrittenFailsBeforeTheWork) {
  const std::string oracle = (fs::path(MOE_SOURCE_DIR) / "tests/data/oracle").string();
  const Outcome outcome = run({"verify", "--oracle", oracle, "--report", "/nonexistent/r.json"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace moe::cli_test
