// What holds for the expert operations of every provider, beyond the reference data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "contract/expert_scene.hpp"
#include "contract/targets.hpp"
#include "ops/dense.hpp"

namespace moe::contract {
namespace {

using ops::MoeNumerics;
using ::testing::HasSubstr;

constexpr MoeNumerics kBoth[] = {MoeNumerics::kNative, MoeNumerics::kLegacy};

// Tails of every kind: K below, at and above the blocks of 16 and 32; N and T no multiple of a
// tile.
const SceneShape kShapes[] = {{1, 1, 1, 1, 1},    {1, 32, 16, 2, 2},   {2, 33, 31, 3, 2},
                              {3, 64, 40, 4, 3},  {5, 17, 65, 8, 8},   {7, 96, 48, 5, 1},
                              {16, 48, 24, 3, 4}, {33, 130, 72, 6, 2}, {19, 511, 5, 2, 2}};

struct Outputs {
  std::vector<Bf16> act;
  std::vector<Bf16> down;
  std::vector<Bf16> y;
  bool operator==(const Outputs&) const = default;
};

class Experts : public ::testing::TestWithParam<std::string> {
 protected:
  Target target_ = open_target(GetParam());

  void ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().to_string(); }

  Outputs run(const ExpertScene& scene, MoeNumerics numerics) {
    const GuardedArray<Bf16> act(scene.act_size());
    const GuardedArray<Bf16> rows(scene.down_size());
    const GuardedArray<Bf16> y(scene.y_size());
    ok(target_.run(scene.gate_up(numerics, act)));
    if (numerics == MoeNumerics::kNative) {
      ok(target_.run(scene.down_weighted(act, rows)));
      ok(target_.run(scene.combine_preweighted(rows, y)));
    } else {
      ok(target_.run(scene.down_plain(act, rows)));
      ok(target_.run(scene.combine(rows, y)));
    }
    EXPECT_TRUE(act.intact() && rows.intact() && y.intact());
    return {act.values(), rows.values(), y.values()};
  }
};

Outputs reference(const ExpertScene& scene, MoeNumerics numerics) {
  const GuardedArray<Bf16> act(scene.act_size());
  const GuardedArray<Bf16> rows(scene.down_size());
  const GuardedArray<Bf16> y(scene.y_size());
  bool good = moe_gate_up_silu_ref(scene.gate_up(numerics, act)).ok();
  if (numerics == MoeNumerics::kNative) {
    good = good && moe_grouped_gemm_weighted_ref(scene.down_weighted(act, rows)).ok();
    good = good && moe_combine_preweighted_ref(scene.combine_preweighted(rows, y)).ok();
  } else {
    good = good && moe_grouped_gemm_ref(scene.down_plain(act, rows)).ok();
    good = good && moe_combine_ref(scene.combine(rows, y)).ok();
  }
  EXPECT_TRUE(good);
  return {act.values(), rows.values(), y.values()};
}

// Rows [begin, begin + count) of a buffer with `cols` columns.
std::vector<Bf16> rows_of(const std::vector<Bf16>& buffer, int64_t cols, int64_t begin,
                          int64_t count) {
  const auto first = buffer.begin() + begin * cols;
  return {first, first + count * cols};
}

TEST_P(Experts, BothChainsEqualTheReference) {
  for (const SceneShape& shape : kShapes) {
    const ExpertScene scene(shape);
    for (const MoeNumerics numerics : kBoth) {
      EXPECT_TRUE(run(scene, numerics) == reference(scene, numerics)) << shape.text();
    }
  }
}

TEST_P(Experts, FusedLegacyEqualsTheUnfusedComposite) {
  for (const SceneShape& shape : kShapes) {
    const ExpertScene scene(shape, 11);
    const GuardedArray<Bf16> fused(scene.act_size());
    ok(target_.run(scene.gate_up(MoeNumerics::kLegacy, fused)));
    const GuardedArray<float> gate(scene.act_size());
    const GuardedArray<float> up(scene.act_size());
    const GuardedArray<Bf16> composite(scene.act_size());
    const View x = matrix_of(scene.x, shape.tokens, shape.hidden);
    const View gate_view = matrix_of(gate, scene.pairs(), shape.inner);
    const View up_view = matrix_of(up, scene.pairs(), shape.inner);
    ok(target_.run(ops::MoeGroupedGemm{x, scene.input_pairs(), scene.gate_matrices(), gate_view}));
    ok(target_.run(ops::MoeGroupedGemm{x, scene.input_pairs(), scene.up_matrices(), up_view}));
    ok(target_.run(
        ops::SiluMul{gate_view, up_view, matrix_of(composite, scene.pairs(), shape.inner)}));
    EXPECT_EQ(fused.values(), composite.values()) << shape.text();
  }
}

TEST_P(Experts, FusedNativeEqualsTheUnfusedComposite) {
  for (const SceneShape& shape : kShapes) {
    const ExpertScene scene(shape, 12);
    const GuardedArray<Bf16> fused(scene.act_size());
    ok(target_.run(scene.gate_up(MoeNumerics::kNative, fused)));
    const GuardedArray<Bf16> gate(scene.act_size());
    const GuardedArray<Bf16> up(scene.act_size());
    const GuardedArray<Bf16> composite(scene.act_size());
    const View x = matrix_of(scene.x, shape.tokens, shape.hidden);
    const View gate_view = matrix_of(gate, scene.pairs(), shape.inner);
    const View up_view = matrix_of(up, scene.pairs(), shape.inner);
    ok(target_.run(ops::MoeGroupedGemm{x, scene.input_pairs(), scene.gate_matrices(), gate_view}));
    ok(target_.run(ops::MoeGroupedGemm{x, scene.input_pairs(), scene.up_matrices(), up_view}));
    ok(target_.run(
        ops::SiluMul{gate_view, up_view, matrix_of(composite, scene.pairs(), shape.inner)}));
    EXPECT_EQ(fused.values(), composite.values()) << shape.text();
  }
}

TEST_P(Experts, RepeatedRunsGiveEqualBits) {
  const ExpertScene scene({33, 130, 72, 6, 2}, 3);
  for (const MoeNumerics numerics : kBoth) {
    const Outputs first = run(scene, numerics);
    for (int repeat = 0; repeat < 3; ++repeat) EXPECT_TRUE(run(scene, numerics) == first);
  }
}

TEST_P(Experts, ARowAloneEqualsTheRowAmongOthers) {
  const SceneShape shape{21, 96, 40, 4, 3};
  const ExpertScene scene(shape, 4);
  for (const MoeNumerics numerics : kBoth) {
    const Outputs all = run(scene, numerics);
    for (const int64_t token : {0, 1, 7, 15, 16, 20}) {
      ExpertScene alone({1, 96, 40, 4, 3}, 4);
      std::copy_n(scene.x.data() + token * 96, 96, alone.x.data());
      std::copy_n(scene.ids.data() + token * 3, 3, alone.ids.data());
      std::copy_n(scene.weights.data() + token * 3, 3, alone.weights.data());
      std::copy_n(scene.gate.data(), scene.gate.size(), alone.gate.data());
      std::copy_n(scene.up.data(), scene.up.size(), alone.up.data());
      std::copy_n(scene.down.data(), scene.down.size(), alone.down.data());
      const Outputs one = run(alone, numerics);
      EXPECT_EQ(one.act, rows_of(all.act, 40, token * 3, 3)) << token;
      EXPECT_EQ(one.down, rows_of(all.down, 96, token * 3, 3)) << token;
      EXPECT_EQ(one.y, rows_of(all.y, 96, token, 1)) << token;
    }
  }
}

TEST_P(Experts, NanAndInfRowsDoNotLeak) {
  const SceneShape shape{18, 80, 33, 4, 2};
  const ExpertScene clean(shape, 5);
  const ExpertScene dirty(shape, 5);
  const Bf16 bad[] = {{0x7fc0}, {0x7f80}, {0xff80}, {0x7f7f}};  // NaN, inf, -inf, the largest
  for (const int64_t token : {3, 8, 17}) {
    for (int64_t c = 0; c < 80; ++c) dirty.x[static_cast<size_t>(token * 80 + c)] = bad[c % 4];
  }
  for (const MoeNumerics numerics : kBoth) {
    const Outputs want = run(clean, numerics);
    const Outputs got = run(dirty, numerics);
    for (int64_t token = 0; token < 18; ++token) {
      if (token == 3 || token == 8 || token == 17) {
        EXPECT_NE(rows_of(got.y, 80, token, 1), rows_of(want.y, 80, token, 1));
        continue;
      }
      EXPECT_EQ(rows_of(got.act, 33, token * 2, 2), rows_of(want.act, 33, token * 2, 2));
      EXPECT_EQ(rows_of(got.down, 80, token * 2, 2), rows_of(want.down, 80, token * 2, 2));
      EXPECT_EQ(rows_of(got.y, 80, token, 1), rows_of(want.y, 80, token, 1));
    }
  }
}

TEST_P(Experts, AnExpertWithoutTokensIsNeitherReadNorMixedIn) {
  const SceneShape shape{9, 64, 32, 4, 2};
  const ExpertScene scene(shape, 6);
  for (size_t p = 0; p < scene.ids.size(); ++p) {
    if (scene.ids[p] == 2) scene.ids[p] = 1;
  }
  const Outputs want = run(scene, MoeNumerics::kNative);
  const size_t size = 64 * 32;
  for (size_t i = 2 * size; i < 3 * size; ++i) {
    scene.gate[i] = scene.up[i] = scene.down[i] = Bf16{0x7fc0};
  }
  EXPECT_TRUE(run(scene, MoeNumerics::kNative) == want);
  // Through addresses, the unused expert may even have none.
  std::vector<int64_t> addresses;
  for (int64_t e = 0; e < 4; ++e) {
    addresses.push_back(e == 2 ? 0 : reinterpret_cast<int64_t>(scene.gate.data() + e * 2048));
  }
  const GuardedArray<Bf16> act(scene.act_size());
  ops::MoeGateUpSilu op = scene.gate_up(MoeNumerics::kNative, act);
  op.gate.base = nullptr;
  op.gate.pointers = {addresses.data(), 4};
  ok(target_.run(op));
  EXPECT_EQ(act.values(), want.act);
}

TEST_P(Experts, ZeroTokensDoNothing) {
  const ExpertScene scene({0, 64, 32, 4, 2}, 7);
  for (const MoeNumerics numerics : kBoth) {
    const Outputs none = run(scene, numerics);
    EXPECT_TRUE(none.act.empty() && none.down.empty() && none.y.empty());
  }
}

TEST_P(Experts, DuplicateIdsGiveEqualRowsAndBothCount) {
  const ExpertScene scene({4, 48, 24, 3, 2}, 8);
  for (size_t p = 0; p < scene.ids.size(); ++p) {
    scene.ids[p] = scene.ids[p / 2 * 2];
    scene.weights[p] = 0.5F;
  }
  for (const MoeNumerics numerics : kBoth) {
    const Outputs got = run(scene, numerics);
    for (int64_t token = 0; token < 4; ++token) {
      EXPECT_EQ(rows_of(got.down, 48, token * 2, 1), rows_of(got.down, 48, token * 2 + 1, 1));
    }
    EXPECT_TRUE(got == reference(scene, numerics));
  }
}

TEST_P(Experts, MinusOneGivesZeroRowsAndAddsNothing) {
  const ExpertScene scene({6, 64, 40, 4, 3}, 9);
  for (size_t p = 0; p < scene.ids.size(); p += 2) scene.ids[p] = -1;
  for (const MoeNumerics numerics : kBoth) {
    const Outputs got = run(scene, numerics);
    EXPECT_TRUE(got == reference(scene, numerics));
    for (size_t i = 0; i < 40; ++i) EXPECT_EQ(got.act[i], Bf16{});
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(got.down[i], Bf16{});
  }
  // What lies in a skipped row does not matter to the sums.
  const GuardedArray<Bf16> rows(scene.down_size());  // all NaN
  for (size_t i = 0; i < rows.size(); ++i) {
    if (scene.ids[i / 64] >= 0) rows[i] = to_bf16(1.0F);
  }
  const GuardedArray<Bf16> y(scene.y_size());
  ok(target_.run(scene.combine_preweighted(rows, y)));
  EXPECT_EQ(to_f32(y[0]), 1.0F);   // token 0: slots -1, 1, -1
  EXPECT_EQ(to_f32(y[64]), 2.0F);  // token 1: slots 1, -1, 1
  scene.weights[0] = std::numeric_limits<float>::quiet_NaN();
  ok(target_.run(scene.combine(rows, y)));
  EXPECT_EQ(y[0], to_bf16(scene.weights[1]));
}

TEST_P(Experts, WeightOneEqualsNoWeight) {
  const ExpertScene scene({5, 64, 40, 4, 2}, 10);
  for (size_t p = 0; p < scene.weights.size(); ++p) scene.weights[p] = 1;
  const GuardedArray<Bf16> act(random_bf16(10 * 40, 3, 1));
  const GuardedArray<Bf16> plain(scene.down_size());
  const GuardedArray<Bf16> weighted(scene.down_size());
  ok(target_.run(scene.down_plain(act, plain)));
  ok(target_.run(scene.down_weighted(act, weighted)));
  EXPECT_EQ(plain.values(), weighted.values());
}

TEST_P(Experts, StridedRowsLeaveTheirPaddingAlone) {
  const ExpertScene scene({5, 64, 40, 4, 2}, 13);
  const GuardedArray<Bf16> dense(scene.act_size());
  ok(target_.run(scene.gate_up(MoeNumerics::kNative, dense)));
  const GuardedArray<Bf16> x(static_cast<size_t>(5 * 70));
  for (int64_t t = 0; t < 5; ++t) std::copy_n(scene.x.data() + t * 64, 64, x.data() + t * 70);
  const GuardedArray<Bf16> act(static_cast<size_t>(10 * 43));
  ops::MoeGateUpSilu op = scene.gate_up(MoeNumerics::kNative, act);
  op.x = {x.data(), DType::kBf16, 5, 64, 70};
  op.act = {act.data(), DType::kBf16, 10, 40, 43};
  ok(target_.run(op));
  for (int64_t p = 0; p < 10; ++p) {
    for (int64_t i = 0; i < 43; ++i) {
      const Bf16 want = i < 40 ? dense[static_cast<size_t>(p * 40 + i)] : Bf16{0xffff};
      EXPECT_EQ(act[static_cast<size_t>(p * 43 + i)], want) << p << ' ' << i;
    }
  }
}

TEST_P(Experts, IdsOutsideGiveErrorAndLeaveOutputsAlone) {
  for (const int32_t bad :
       {-2, 4, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    const ExpertScene scene({5, 64, 40, 4, 2}, 14);
    scene.ids[7] = bad;
    const GuardedArray<Bf16> act(scene.act_size());
    const GuardedArray<Bf16> rows(scene.down_size());
    const Bf16 untouched{0xffff};
    for (const MoeNumerics numerics : kBoth) {
      const Status status = target_.run(scene.gate_up(numerics, act));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(status.error().message, HasSubstr("expert_ids[7] is"));
      EXPECT_THAT(status.error().message, HasSubstr(std::to_string(bad)));
    }
    EXPECT_FALSE(target_.run(scene.down_plain(act, rows)).ok());
    EXPECT_FALSE(target_.run(scene.down_weighted(act, rows)).ok());
    EXPECT_THAT(act.values(), ::testing::Each(untouched));
    EXPECT_THAT(rows.values(), ::testing::Each(untouched));
    EXPECT_TRUE(act.intact() && rows.intact());
  }
}

TEST_P(Experts, RowMapOutsideGivesErrorAndLeavesOutputsAlone) {
  for (const int32_t bad : {-1, 5, std::numeric_limits<int32_t>::max()}) {
    const ExpertScene scene({5, 64, 40, 4, 2}, 15);
    scene.row_map[3] = bad;
    const GuardedArray<Bf16> act(scene.act_size());
    const Status status = target_.run(scene.gate_up(MoeNumerics::kNative, act));
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("row_map[3] is"));
    EXPECT_THAT(act.values(), ::testing::Each(Bf16{0xffff}));
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Experts, ::testing::ValuesIn(target_names()),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace moe::contract
