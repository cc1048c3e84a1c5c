// The runner of the large cases on a small case of the same format, written here: the inputs follow
// the counter recipe and the expectation comes from the references.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "contract/expert_scene.hpp"
#include "contract/targets.hpp"
#include "io/safetensors_writer.hpp"
#include "verify/component_counter.hpp"
#include "verify/component_verify.hpp"

namespace moe::contract {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using verify::CounterTag;
using verify::Outcome;

constexpr uint64_t kSeed = 77;
const SceneShape kShape{40, 24, 18, 5, 3};
constexpr double kWeightScale = 0.25;

// The whole block by the recipe.
void fill_by_recipe(const ExpertScene& scene) {
  const auto fill = [](const GuardedArray<Bf16>& values, CounterTag tag, double scale) {
    verify::counter_values(kSeed, tag, 0, scale, {values.data(), values.size()});
  };
  fill(scene.x, CounterTag::kX, 1);
  fill(scene.gate, CounterTag::kGate, kWeightScale);
  fill(scene.up, CounterTag::kUp, kWeightScale);
  fill(scene.down, CounterTag::kDown, kWeightScale);
  const auto slots = static_cast<size_t>(kShape.slots);
  for (size_t t = 0; t < static_cast<size_t>(kShape.tokens); ++t) {
    const auto token = static_cast<int64_t>(t);
    verify::counter_expert_ids(kSeed, token, kShape.experts, {scene.ids.data() + t * slots, slots});
    verify::counter_weights(kSeed, token, {scene.weights.data() + t * slots, slots});
  }
}

std::vector<Bf16> reference_y(const ExpertScene& scene, ops::MoeNumerics numerics) {
  const GuardedArray<Bf16> act(scene.act_size());
  const GuardedArray<Bf16> rows(scene.down_size());
  const GuardedArray<Bf16> y(scene.y_size());
  EXPECT_TRUE(moe_gate_up_silu_ref(scene.gate_up(numerics, act)).ok());
  if (numerics == ops::MoeNumerics::kNative) {
    EXPECT_TRUE(moe_grouped_gemm_weighted_ref(scene.down_weighted(act, rows)).ok());
    EXPECT_TRUE(moe_combine_preweighted_ref(scene.combine_preweighted(rows, y)).ok());
  } else {
    EXPECT_TRUE(moe_grouped_gemm_ref(scene.down_plain(act, rows)).ok());
    EXPECT_TRUE(moe_combine_ref(scene.combine(rows, y)).ok());
  }
  return y.values();
}

class LargeCase : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ =
        fs::temp_directory_path() / ("moe_large_" + std::to_string(getpid()) + "_" + info->name());
    fs::create_directories(dir_);
    write_cases(kSeed);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write_cases(uint64_t seed) {
    std::ofstream(dir_ / "cases.json")
        << R"({"expert_large":[{"name":"tiny","file":"tiny.safetensors","M":40,"H":24,"I":18,"E":5,)"
        << R"("topk":3,"exact":true,"generator":"counter","generator_seed":)" << seed
        << R"(,"scales":{"x":1,"w_gate":0.25,"w_up":0.25,"w_down":0.25}}]})";
  }

  // Samples of y at `index`, which may lie outside y.
  void write_file(const std::vector<int64_t>& index) {
    const ExpertScene scene(kShape);
    fill_by_recipe(scene);
    const std::vector<int64_t> tokens = {0, 1, 38, 39};
    std::vector<io::TensorSpec> specs;
    std::vector<std::vector<std::byte>> data;
    const auto add = [&](const std::string& name, io::StoredType type, std::vector<int64_t> shape,
                         const auto* values, size_t count) {
      specs.push_back({name, type, std::move(shape)});
      const auto* bytes = reinterpret_cast<const std::byte*>(values);
      data.emplace_back(bytes, bytes + count * sizeof(*values));
    };
    const std::pair<const char*, const GuardedArray<Bf16>*> tensors[] = {
        {"x", &scene.x}, {"w_gate", &scene.gate}, {"w_up", &scene.up}, {"w_down", &scene.down}};
    for (const auto& [name, values] : tensors) {
      const std::string check = std::string("check.") + name;
      add(check + "_first", io::StoredType::kBf16, {16}, values->data(), 16);
      add(check + "_last", io::StoredType::kBf16, {16}, values->data() + values->size() - 16, 16);
    }
    std::vector<int32_t> ids;
    std::vector<float> weights;
    for (const int64_t token : tokens) {
      for (int64_t k = 0; k < 3; ++k) {
        ids.push_back(scene.ids[static_cast<size_t>(token * 3 + k)]);
        weights.push_back(scene.weights[static_cast<size_t>(token * 3 + k)]);
      }
    }
    add("check.tokens", io::StoredType::kI64, {4}, tokens.data(), 4);
    add("check.topk_ids", io::StoredType::kI32, {4, 3}, ids.data(), 12);
    add("check.topk_weights", io::StoredType::kF32, {4, 3}, weights.data(), 12);
    const auto count = static_cast<int64_t>(index.size());
    add("index", io::StoredType::kI64, {count}, index.data(), index.size());
    for (const auto& [name, numerics] : {std::pair{"native.y", ops::MoeNumerics::kNative},
                                         std::pair{"legacy.y", ops::MoeNumerics::kLegacy}}) {
      const std::vector<Bf16> y = reference_y(scene, numerics);
      std::vector<Bf16> samples;
      for (const int64_t i : index) {
        samples.push_back(y[static_cast<size_t>(i) % y.size()]);
      }
      add(name, io::StoredType::kBf16, {count}, samples.data(), samples.size());
    }
    std::vector<io::NamedTensor> named;
    for (size_t i = 0; i < specs.size(); ++i) named.push_back({specs[i], data[i]});
    ASSERT_TRUE(io::write_safetensors(dir_ / "tiny.safetensors", named).ok());
  }

  std::vector<verify::CaseResult> verify(const verify::ComponentOptions& options = {}) {
    const Target target = open_target("ref");
    return verify::verify_components(dir_, target.verify(), options).value();
  }

  fs::path dir_;
};

TEST_F(LargeCase, SampledFullAndPointerRunsPass) {
  write_file({0, 23, 24 * 7 + 3, 24 * 7 + 4, 24 * 40 - 1});
  verify::ComponentOptions full;
  full.full = true;
  verify::ComponentOptions pointers;
  pointers.expert_pointers = true;
  for (const auto& options : {verify::ComponentOptions{}, full, pointers}) {
    const auto results = verify(options);
    ASSERT_EQ(results.size(), 2U);
    for (const auto& result : results) {
      EXPECT_EQ(result.outcome, Outcome::kPass) << result.name << result.detail;
      EXPECT_THAT(result.measured, HasSubstr("0/5 unequal"));
    }
  }
}

TEST_F(LargeCase, AnotherSeedThanTheFilesFails) {
  write_file({5});
  write_cases(kSeed + 1);
  EXPECT_EQ(verify()[0].outcome, Outcome::kFail);
  EXPECT_THAT(verify()[0].detail, HasSubstr("the recipe gives other check.x_first than the file"));
}

TEST_F(LargeCase, SamplesOutsideYFail) {
  for (const int64_t bad : {int64_t{-1}, int64_t{24 * 40}, int64_t{1} << 62}) {
    write_file({5, bad});
    EXPECT_EQ(verify()[0].outcome, Outcome::kFail);
    EXPECT_THAT(verify()[0].detail, HasSubstr("lies outside y of 960 elements"));
  }
}

TEST_F(LargeCase, AbsurdShapesFailWithoutAllocating) {
  write_file({5});
  std::ofstream(dir_ / "cases.json")
      << R"({"expert_large":[{"name":"tiny","file":"tiny.safetensors","M":1000000,"H":65536,)"
      << R"("I":65536,"E":4096,"topk":3,"generator":"counter","generator_seed":77,)"
      << R"("scales":{"x":1,"w_gate":0.25,"w_up":0.25,"w_down":0.25}}]})";
  EXPECT_EQ(verify()[0].outcome, Outcome::kFail);
}

}  // namespace
}  // namespace moe::contract
