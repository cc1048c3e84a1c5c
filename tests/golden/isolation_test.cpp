// A request that goes wrong inside the model fails alone, by name; its neighbours keep their bits.
#include <cstring>

#include "engine_fixture.hpp"
#include "made_checkpoint.hpp"

namespace moe::golden {
namespace {

constexpr int32_t kBrokenToken = 5;

// The fixture with NaN in the embedding of one token.
std::unique_ptr<engine::Engine> broken_fixture(const Folder& folder) {
  const std::filesystem::path original = model_dir("qwen3_moe_fixture");
  const auto checkpoint = io::Checkpoint::open(original).value();
  std::vector<io::NamedTensor> tensors = tensors_of(*checkpoint);
  std::vector<std::byte> embedding;
  for (io::NamedTensor& tensor : tensors) {
    if (tensor.spec.name != "model.embed_tokens.weight") continue;
    embedding.assign(tensor.data.begin(), tensor.data.end());
    const size_t row_bytes = 128 * sizeof(uint16_t);
    std::memset(embedding.data() + kBrokenToken * row_bytes, 0xff, row_bytes);
    tensor.data = embedding;
  }
  EXPECT_FALSE(embedding.empty());
  EXPECT_TRUE(io::write_checkpoint(folder.path(), tensors, 1).ok());
  std::filesystem::copy(original / "config.json", folder.path());
  return load(folder.path());
}

TEST(Isolation, ARequestWithoutFiniteLogitsFailsAloneAndOthersKeepTheirBits) {
  const Folder folder;
  const auto engine = broken_fixture(folder);
  ASSERT_NE(engine, nullptr);
  const Trace expected = trace(*load(model_dir("qwen3_moe_fixture")), {{41, 58, 75}}, 8)[0];

  Trace neighbour;
  std::vector<engine::Request> requests;
  requests.push_back(greedy_request({12, kBrokenToken, 33}, 8));
  requests.push_back(greedy_request({41, 58, 75}, 8));
  record_logits(requests[1], neighbour.logit_bits);
  const auto answers = engine->generate(std::move(requests)).value();
  EXPECT_EQ(answers[0].reason, engine::FinishReason::kError);
  ASSERT_TRUE(answers[0].error.has_value());
  EXPECT_NE(answers[0].error->message.find("no finite logit at position 3"), std::string::npos)
      << answers[0].error->message;
  EXPECT_TRUE(answers[0].tokens.empty());
  neighbour.tokens = answers[1].tokens;
  EXPECT_TRUE(neighbour == expected);
  EXPECT_TRUE(engine->idle());
}

}  // namespace
}  // namespace moe::golden
