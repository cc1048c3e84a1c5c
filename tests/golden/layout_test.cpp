// One model in every accepted layout on disk gives the same bits: experts one by one or stacked,
// one file or shards.
#include <map>

#include "engine_fixture.hpp"
#include "made_checkpoint.hpp"

namespace moe::golden {
namespace {

// Replaces the single expert matrices by `gate_up_proj` and `down_proj` stacks; `storage` owns
// them.
std::vector<io::NamedTensor> stacked(const io::Checkpoint& checkpoint, const std::string& suffix,
                                     std::map<std::string, std::vector<std::byte>>& storage) {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<io::NamedTensor> tensors;
  const auto append = [&](const std::string& name, const io::TensorInfo& tensor) {
    auto& bytes = storage[name];
    bytes.insert(bytes.end(), tensor.data, tensor.data + tensor.bytes);
  };
  for (const io::TensorInfo& tensor : checkpoint.tensors()) {
    if (tensor.name.find(".experts.") == std::string::npos) {
      tensors.push_back({{tensor.name, tensor.type, tensor.shape}, {tensor.data, tensor.bytes}});
    }
  }
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::string base = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    for (int64_t expert = 0; expert < 4; ++expert) {
      const std::string one = base + std::to_string(expert) + ".";
      append(base + "gate_up_proj" + suffix, *checkpoint.find(one + "gate_proj.weight"));
      append(base + "gate_up_proj" + suffix, *checkpoint.find(one + "up_proj.weight"));
      append(base + "down_proj" + suffix, *checkpoint.find(one + "down_proj.weight"));
    }
    shapes[base + "gate_up_proj" + suffix] = {4, 256, 128};
    shapes[base + "down_proj" + suffix] = {4, 128, 128};
  }
  for (const auto& [name, shape] : shapes) {
    tensors.push_back({{name, io::StoredType::kBf16, shape}, storage[name]});
  }
  return tensors;
}

TEST(Layout, StackedExpertsAndShardsGiveTheBitsOfTheOriginal) {
  const std::filesystem::path original = model_dir("qwen3_moe_fixture");
  const std::vector<std::vector<int32_t>> prompts = {{12}, made_prompt(33, 128)};
  const std::vector<Trace> expected = trace(*load(original), prompts, 8);
  const auto checkpoint = io::Checkpoint::open(original).value();
  for (const std::string suffix : {"", ".weight"}) {
    for (int shards : {1, 3}) {
      const Folder folder;
      std::map<std::string, std::vector<std::byte>> storage;
      const auto tensors = stacked(*checkpoint, suffix, storage);
      ASSERT_TRUE(io::write_checkpoint(folder.path(), tensors, shards).ok());
      std::filesystem::copy(original / "config.json", folder.path());
      const auto engine = load(folder.path());
      ASSERT_NE(engine, nullptr);
      EXPECT_TRUE(trace(*engine, prompts, 8) == expected) << shards << " shards, suffix " << suffix;
    }
  }
}

TEST(Layout, AMissingExpertIsNamed) {
  const std::filesystem::path original = model_dir("qwen3_moe_fixture");
  const auto checkpoint = io::Checkpoint::open(original).value();
  const Folder folder;
  std::vector<io::NamedTensor> tensors = tensors_of(*checkpoint);
  std::erase_if(tensors, [](const io::NamedTensor& tensor) {
    return tensor.spec.name == "model.layers.1.mlp.experts.2.up_proj.weight";
  });
  ASSERT_TRUE(io::write_checkpoint(folder.path(), tensors, 1).ok());
  std::filesystem::copy(original / "config.json", folder.path());
  const auto result = engine::Engine::load(folder.path(), {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("model.layers.1.mlp.experts.2.up_proj"), std::string::npos)
      << result.error().message;
}

}  // namespace
}  // namespace moe::golden
