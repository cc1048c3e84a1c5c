// The bundled model answers its recorded questions with exactly the recorded tokens and text.
#include "base/json.hpp"
#include "engine_fixture.hpp"
#include "verify/json_file.hpp"

namespace moe::golden {
namespace {

TEST(WordnetMoe, GreedyAnswersToAllRecordedQuestionsAreEqual) {
  const std::filesystem::path dir = std::filesystem::path(MOE_SOURCE_DIR) / "models/wordnet-moe";
  const Json cases = verify::read_json_file(dir / "expect.json").value()["cases"];
  ASSERT_EQ(cases.size(), 57u);
  const auto engine = load(dir);
  ASSERT_NE(engine, nullptr);
  std::vector<engine::Request> requests;
  for (const Json& entry : cases) {
    engine::Request request;
    request.prompt = entry["prompt_ids"].get<std::vector<int32_t>>();
    request.sampling = engine->default_sampling();
    request.sampling.max_tokens = 256;
    requests.push_back(std::move(request));
  }
  const auto answers = engine->generate(std::move(requests)).value();
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(answers[i].tokens, cases[i]["answer_ids"].get<std::vector<int32_t>>())
        << cases[i]["question"];
    EXPECT_EQ(answers[i].text, cases[i]["answer"].get<std::string>());
    EXPECT_EQ(answers[i].reason, engine::FinishReason::kStop);
  }
}

}  // namespace
}  // namespace moe::golden
