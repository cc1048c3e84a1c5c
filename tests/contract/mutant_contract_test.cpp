// The exact cases must catch wrong chains: each mutant below leaves out, moves or doubles one
// rounding or one weight, and cases.json says how many elements of each case that changes. A case
// must fail exactly under the mutants that change something.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "contract/targets.hpp"
#include "ops/dot.hpp"
#include "ops/exp.hpp"
#include "verify/component_verify.hpp"

namespace moe::contract {
namespace {

namespace fs = std::filesystem;
using ops::MoeNumerics;

const fs::path kData = fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/components";

using Step = float (*)(float);
float keep(float value) { return value; }
float truncate(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffff0000U);
}
float half_away(float value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x8000U) & 0xffff0000U);
}
float nearest(float value) { return round_bf16(value); }
float silu(float gate) { return ops::silu_f32(gate); }
float silu_of_rounded_sigmoid(float gate) {
  return gate * round_bf16(1.0F / (1.0F + ops::exp_f32(-gate)));
}
float once(float weight) { return weight; }
float none(float) { return 1; }

template <Step kG, Step kU, Step kS, Step kA = nearest, Step kSilu = silu, bool kSwap = false>
Status gate_up(const ops::MoeGateUpSilu& op, Device&, ops::Workspace) {
  for (int64_t p = 0; p < op.act.rows; ++p) {
    const Bf16* x = op.x.bf16_row(op.pairs.row_map.absent() ? p : op.pairs.row_map[p]);
    const int32_t e = op.pairs.expert_ids[p];
    for (int64_t i = 0; i < op.act.cols; ++i) {
      float g = kG(ops::dot32(x, op.gate.expert(e) + i * op.gate.row_stride, op.gate.cols));
      float u = kU(ops::dot32(x, op.up.expert(e) + i * op.up.row_stride, op.up.cols));
      if (kSwap) std::swap(g, u);
      op.act.bf16_row(p)[i] = to_bf16(kA(kS(kSilu(g)) * u));
    }
  }
  return {};
}

enum class WeightPlace : uint8_t { kBefore, kAfter };
template <Step kWeight, Step kD = nearest, WeightPlace kPlace = WeightPlace::kBefore>
Status weighted(const ops::MoeGroupedGemmWeighted& op, Device&, ops::Workspace) {
  for (int64_t p = 0; p < op.y.rows; ++p) {
    const Bf16* w = op.w.expert(op.pairs.expert_ids[p]);
    for (int64_t n = 0; n < op.w.rows; ++n) {
      float d = ops::dot32(op.x.bf16_row(p), w + n * op.w.row_stride, op.w.cols);
      if (kPlace == WeightPlace::kAfter) d = round_bf16(d);
      op.y.bf16_row(p)[n] = to_bf16(kD(d * kWeight(op.routing_weights[p])));
    }
  }
  return {};
}

template <Step kD>
Status plain(const ops::MoeGroupedGemm& op, Device&, ops::Workspace) {
  for (int64_t p = 0; p < op.y.rows; ++p) {
    const Bf16* w = op.w.expert(op.pairs.expert_ids[p]);
    for (int64_t n = 0; n < op.w.rows; ++n) {
      op.y.bf16_row(p)[n] =
          to_bf16(kD(ops::dot32(op.x.bf16_row(p), w + n * op.w.row_stride, op.w.cols)));
    }
  }
  return {};
}

// kTerm rounds each weighted term, kSum each partial sum, kY the result.
template <Step kSum, Step kY>
Status sum_rows(const ops::MoeCombinePreweighted& op, Device&, ops::Workspace) {
  for (int64_t i = 0; i < op.y.rows * op.y.cols; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < op.slots; ++k) {
      sum = kSum(sum + to_f32(op.rows.bf16_row(i / op.y.cols * op.slots + k)[i % op.y.cols]));
    }
    op.y.bf16_row(i / op.y.cols)[i % op.y.cols] = to_bf16(kY(sum));
  }
  return {};
}
template <Step kWeight, Step kTerm, Step kSum, Step kY>
Status weigh_rows(const ops::MoeCombine& op, Device&, ops::Workspace) {
  for (int64_t i = 0; i < op.y.rows * op.y.cols; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < op.slots; ++k) {
      const int64_t p = i / op.y.cols * op.slots + k;
      const float row = to_f32(op.rows.bf16_row(p)[i % op.y.cols]);
      sum = kSum(sum + kTerm(kWeight(op.routing_weights[p]) * row));
    }
    op.y.bf16_row(i / op.y.cols)[i % op.y.cols] = to_bf16(kY(sum));
  }
  return {};
}

template <class Desc>
using Run = Status (*)(const Desc&, Device&, ops::Workspace);

// What replaces the references; null keeps the reference.
struct Mutant {
  const char* name;
  Run<ops::MoeGateUpSilu> act = nullptr;
  Run<ops::MoeGroupedGemm> down = nullptr;
  Run<ops::MoeGroupedGemmWeighted> weighted_down = nullptr;
  Run<ops::MoeCombine> combine = nullptr;
  Run<ops::MoeCombinePreweighted> combine_weighted = nullptr;
};

const Mutant kNativeMutants[] = {
    {"g_not_narrowed", gate_up<keep, nearest, nearest>},
    {"u_not_narrowed", gate_up<nearest, keep, nearest>},
    {"s_not_narrowed", gate_up<nearest, nearest, keep>},
    {"g_and_u_not_narrowed", gate_up<keep, keep, nearest>},
    {"legacy_act", gate_up<keep, keep, keep>},
    {"weight_after_narrowing_d", nullptr, nullptr, weighted<once, nearest, WeightPlace::kAfter>},
    {"weight_left_out", nullptr, nullptr, weighted<none>},
    {"weight_in_bf16", nullptr, nullptr, weighted<nearest>},
    {"sum_in_bf16", nullptr, nullptr, nullptr, nullptr, sum_rows<nearest, nearest>},
    {"sigmoid_in_bf16", gate_up<nearest, nearest, nearest, nearest, silu_of_rounded_sigmoid>},
    {"gate_and_up_swapped", gate_up<nearest, nearest, nearest, nearest, silu, true>},
    {"truncation", gate_up<truncate, truncate, truncate, truncate>, nullptr,
     weighted<once, truncate>, nullptr, sum_rows<keep, truncate>},
    {"ties_away_from_zero", gate_up<half_away, half_away, half_away, half_away>, nullptr,
     weighted<once, half_away>, nullptr, sum_rows<keep, half_away>}};

const Mutant kLegacyMutants[] = {
    {"g_narrowed", gate_up<nearest, keep, keep>},
    {"u_narrowed", gate_up<keep, nearest, keep>},
    {"s_narrowed", gate_up<keep, keep, nearest>},
    {"weighted_d_narrowed_again", nullptr, nullptr, nullptr,
     weigh_rows<once, nearest, keep, nearest>},
    {"weight_left_out", nullptr, nullptr, nullptr, weigh_rows<none, keep, keep, nearest>},
    {"weight_in_bf16", nullptr, nullptr, nullptr, weigh_rows<nearest, keep, keep, nearest>},
    {"sum_in_bf16", nullptr, nullptr, nullptr, weigh_rows<once, keep, nearest, nearest>},
    {"gate_and_up_swapped", gate_up<keep, keep, keep, nearest, silu, true>},
    {"truncation", gate_up<keep, keep, keep, truncate>, plain<truncate>, nullptr,
     weigh_rows<once, keep, keep, truncate>},
    {"ties_away_from_zero", gate_up<keep, keep, keep, half_away>, plain<half_away>, nullptr,
     weigh_rows<once, keep, keep, half_away>}};

// A table whose mutated ops come before the references.
class MutantTable {
 public:
  explicit MutantTable(const Mutant& mutant) {
    std::vector<std::string> replaced;
    const auto drop = [&](bool mutated, ops::OpId op) {
      if (mutated) replaced.emplace_back(name_of(op));
    };
    drop(mutant.act != nullptr, ops::MoeGateUpSilu::kId);
    drop(mutant.down != nullptr, ops::MoeGroupedGemm::kId);
    drop(mutant.weighted_down != nullptr, ops::MoeGroupedGemmWeighted::kId);
    drop(mutant.combine != nullptr, ops::MoeCombine::kId);
    drop(mutant.combine_weighted != nullptr, ops::MoeCombinePreweighted::kId);
    target_ = {make_guarded_host_device(), make_reference_table(replaced)};
    add(act_, mutant.act);
    add(down_, mutant.down);
    add(weighted_down_, mutant.weighted_down);
    add(combine_, mutant.combine);
    add(combine_weighted_, mutant.combine_weighted);
  }
  const Target& target() const { return target_; }

 private:
  template <class Desc>
  void add(ops::Variant<Desc>& variant, Run<Desc> run) {
    if (run == nullptr) return;
    variant = {"test:mutant",          ops::NumericClass::kReference, ops::always_available,
               ops::accepts_all<Desc>, ops::no_workspace<Desc>,       run};
    target_.table->add<Desc>(std::span(&variant, 1));
  }
  Target target_;
  ops::Variant<ops::MoeGateUpSilu> act_{};
  ops::Variant<ops::MoeGroupedGemm> down_{};
  ops::Variant<ops::MoeGroupedGemmWeighted> weighted_down_{};
  ops::Variant<ops::MoeCombine> combine_{};
  ops::Variant<ops::MoeCombinePreweighted> combine_weighted_{};
};

// What a mutant changes in a case, by cases.json.
int64_t changed_elements(const Json& test, const std::string& chain, const char* mutant) {
  const Json& counts = test.at("mutants").at(chain).at(mutant);
  return counts.at("act").get<int64_t>() + counts.at("down").get<int64_t>() +
         counts.at("y").get<int64_t>();
}

Json exact_cases() {
  std::ifstream file(kData / "cases.json");
  std::stringstream text;
  text << file.rdbuf();
  Json exact = Json::array();
  const Json root = parse_json(text.str(), "cases.json").value();
  for (const Json& test : root.at("expert")) {
    const std::string name = test.at("file").get<std::string>();
    if (test.at("exact").get<bool>() && fs::exists(kData / name)) exact.push_back(test);
  }
  return exact;
}

void check_mutants(std::span<const Mutant> mutants, const std::string& chain) {
  int caught = 0;
  const Json cases = exact_cases();
  ASSERT_GE(cases.size(), 3U);
  for (const Mutant& mutant : mutants) {
    const MutantTable table(mutant);
    for (const Json& test : cases) {
      verify::ComponentOptions options;
      options.skip_missing_files = true;
      options.filter = "expert/" + test.at("name").get<std::string>() + "/" + chain;
      const auto results =
          verify::verify_components(kData, table.target().verify(), options).value();
      ASSERT_EQ(results.size(), 1U);
      const bool differs = changed_elements(test, chain, mutant.name) > 0;
      EXPECT_EQ(results[0].outcome, differs ? verify::Outcome::kFail : verify::Outcome::kPass)
          << results[0].name << " under " << mutant.name << ": " << results[0].measured;
      caught += differs ? 1 : 0;
    }
  }
  EXPECT_GT(caught, static_cast<int>(mutants.size()));  // each by more than one case on average
}

TEST(Mutants, EveryWrongNativeChainIsCaught) { check_mutants(kNativeMutants, "native"); }
TEST(Mutants, EveryWrongLegacyChainIsCaught) { check_mutants(kLegacyMutants, "legacy"); }

TEST(Mutants, AnElementThatNobodyWroteIsCaught) {
  Mutant lazy{"lazy"};
  lazy.combine_weighted = [](const ops::MoeCombinePreweighted&, Device&, ops::Workspace) {
    return Status{};
  };
  const MutantTable table(lazy);
  verify::ComponentOptions options;
  options.filter = "expert/exact_top1/native";
  const auto results = verify::verify_components(kData, table.target().verify(), options).value();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].outcome, verify::Outcome::kFail);
}

}  // namespace
}  // namespace moe::contract
