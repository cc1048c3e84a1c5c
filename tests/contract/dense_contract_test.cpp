// Every provider gives the bits of the reference for the operations outside the experts, on random
// shapes with tails of every kind, and refuses what the reference refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/expert_scene.hpp"
#include "contract/targets.hpp"

namespace moe::contract {
namespace {

class DenseOps : public ::testing::TestWithParam<std::string> {
 protected:
  Target target_ = open_target(GetParam());

  template <class Desc>
  void run(const Desc& desc) {
    const Status status = target_.run(desc);
    ASSERT_TRUE(status.ok()) << status.error().to_string();
  }
};

GuardedArray<Bf16> random_matrix(int64_t rows, int64_t cols, uint64_t seed, float scale = 1) {
  return GuardedArray<Bf16>(random_bf16(rows * cols, seed, scale));
}
GuardedArray<Bf16> empty_matrix(int64_t rows, int64_t cols) {
  return GuardedArray<Bf16>(static_cast<size_t>(rows * cols));
}

TEST_P(DenseOps, Linear) {
  const int64_t shapes[][3] = {{1, 1, 1},    {1, 33, 17},  {2, 64, 31},   {5, 511, 9},
                               {16, 32, 16}, {17, 48, 70}, {40, 130, 65}, {3, 16, 128}};
  for (const auto& [rows, k, n] : shapes) {
    const auto x = random_matrix(rows, k, 1);
    const auto w = random_matrix(n, k, 2);
    const auto bias = random_matrix(1, n, 3);
    for (const bool biased : {false, true}) {
      const auto got = empty_matrix(rows, n);
      const auto want = empty_matrix(rows, n);
      ops::Linear op{matrix_of(x, rows, k), matrix_of(w, n, k), {}, matrix_of(got, rows, n)};
      if (biased) op.bias = matrix_of(bias, 1, n);
      run(op);
      op.y = matrix_of(want, rows, n);
      ASSERT_TRUE(linear_ref(op).ok());
      EXPECT_EQ(got.values(), want.values()) << rows << ' ' << k << ' ' << n << biased;

      const GuardedArray<float> wide(got.size());
      const GuardedArray<float> wide_want(got.size());
      op.y = matrix_of(wide, rows, n);
      run(op);
      op.y = matrix_of(wide_want, rows, n);
      ASSERT_TRUE(linear_ref(op).ok());
      EXPECT_EQ(wide.values(), wide_want.values()) << rows << ' ' << k << ' ' << n << biased;
    }
  }
}

TEST_P(DenseOps, LinearF32) {
  const int64_t shapes[][3] = {{1, 1, 1}, {1, 33, 17}, {5, 511, 9}, {17, 64, 12}};
  for (const auto& [rows, k, n] : shapes) {
    const auto x = random_matrix(rows, k, 1);
    const GuardedArray<float> w(random_f32(n * k, 2));
    const GuardedArray<float> got(static_cast<size_t>(rows * n));
    const GuardedArray<float> want(static_cast<size_t>(rows * n));
    ops::LinearF32 op{matrix_of(x, rows, k), matrix_of(w, n, k), matrix_of(got, rows, n)};
    run(op);
    op.y = matrix_of(want, rows, n);
    ASSERT_TRUE(linear_f32_ref(op).ok());
    EXPECT_EQ(got.values(), want.values()) << rows << ' ' << k << ' ' << n;
  }
}

TEST_P(DenseOps, LinearF32WithBf16ValuesHasTheBitsOfLinear) {
  const auto x = random_matrix(3, 77, 1);
  const auto narrow = random_matrix(5, 77, 2);
  const GuardedArray<float> wide(narrow.size());
  for (size_t i = 0; i < narrow.size(); ++i) wide[i] = to_f32(narrow[i]);
  const GuardedArray<float> got(15);
  const GuardedArray<float> want(15);
  run(ops::LinearF32{matrix_of(x, 3, 77), matrix_of(wide, 5, 77), matrix_of(got, 3, 5)});
  run(ops::Linear{matrix_of(x, 3, 77), matrix_of(narrow, 5, 77), {}, matrix_of(want, 3, 5)});
  EXPECT_EQ(got.values(), want.values());
}

TEST_P(DenseOps, RmsNorm) {
  for (const int64_t cols : {1, 8, 15, 16, 17, 96, 128, 769}) {
    for (const int64_t rows : {1, 7}) {
      const auto x = random_matrix(rows, cols, 4, 3);
      const auto weight = random_matrix(1, cols, 5);
      const auto residual = random_matrix(rows, cols, 6, 3);
      const auto residual_want = random_matrix(rows, cols, 6, 3);
      const auto got = empty_matrix(rows, cols);
      const auto want = empty_matrix(rows, cols);
      ops::RmsNorm op{matrix_of(x, rows, cols), matrix_of(residual, rows, cols),
                      matrix_of(weight, 1, cols), 1e-6F, matrix_of(got, rows, cols)};
      run(op);
      op.residual = matrix_of(residual_want, rows, cols);
      op.out = matrix_of(want, rows, cols);
      ASSERT_TRUE(rms_norm_ref(op).ok());
      EXPECT_EQ(got.values(), want.values()) << cols;
      EXPECT_EQ(residual.values(), residual_want.values()) << cols;
      op.residual = {};
      ASSERT_TRUE(rms_norm_ref(op).ok());
      op.out = matrix_of(got, rows, cols);
      run(op);
      EXPECT_EQ(got.values(), want.values()) << cols;
      op.out = matrix_of(x, rows, cols);  // in place
      run(op);
      EXPECT_EQ(x.values(), want.values()) << cols;
    }
  }
}

TEST_P(DenseOps, Rope) {
  for (const auto& [head_dim, rotary] :
       {std::pair{2, 2}, {20, 20}, {64, 32}, {128, 128}, {80, 6}}) {
    for (const bool interleaved : {false, true}) {
      const int64_t cols = 3 * head_dim;
      const auto got = random_matrix(5, cols, 7);
      const auto want = random_matrix(5, cols, 7);
      const auto table = random_matrix(9, rotary, 8);
      const GuardedArray<int32_t> positions(std::vector<int32_t>{0, 8, 3, 3, 1});
      ops::Rope op{matrix_of(got, 5, cols),    head_dim, rotary, interleaved, view_of(positions),
                   matrix_of(table, 9, rotary)};
      run(op);
      op.x = matrix_of(want, 5, cols);
      ASSERT_TRUE(rope_ref(op).ok());
      EXPECT_EQ(got.values(), want.values()) << head_dim << ' ' << rotary << interleaved;
    }
  }
}

TEST_P(DenseOps, SiluMul) {
  for (const int64_t cols : {1, 15, 16, 33, 257}) {
    const auto gate = random_matrix(3, cols, 9, 30);
    const auto up = random_matrix(3, cols, 10, 2);
    const auto got = empty_matrix(3, cols);
    const auto want = empty_matrix(3, cols);
    ops::SiluMul op{matrix_of(gate, 3, cols), matrix_of(up, 3, cols), matrix_of(got, 3, cols)};
    run(op);
    op.out = matrix_of(want, 3, cols);
    ASSERT_TRUE(silu_mul_ref(op).ok());
    EXPECT_EQ(got.values(), want.values()) << cols;

    const GuardedArray<float> wide_gate(random_f32(3 * cols, 11));
    const GuardedArray<float> wide_up(random_f32(3 * cols, 12));
    op = {matrix_of(wide_gate, 3, cols), matrix_of(wide_up, 3, cols), matrix_of(got, 3, cols)};
    run(op);
    op.out = matrix_of(want, 3, cols);
    ASSERT_TRUE(silu_mul_ref(op).ok());
    EXPECT_EQ(got.values(), want.values()) << cols;
  }
}

TEST_P(DenseOps, ScaleAdd) {
  for (const int64_t cols : {1, 15, 16, 33, 257}) {
    const auto x = random_matrix(3, cols, 9, 30);
    const auto gate = random_matrix(3, 1, 10, 4);
    const auto addend = random_matrix(3, cols, 11, 2);
    for (const bool gated : {false, true}) {
      for (const bool added : {false, true}) {
        const auto got = empty_matrix(3, cols);
        const auto want = empty_matrix(3, cols);
        ops::ScaleAdd op;
        op.x = matrix_of(x, 3, cols);
        if (gated) op.gate = matrix_of(gate, 3, 1);
        op.scale = gated ? 1 : 0.22F;
        if (added) op.addend = matrix_of(addend, 3, cols);
        op.out = matrix_of(got, 3, cols);
        run(op);
        op.out = matrix_of(want, 3, cols);
        ASSERT_TRUE(scale_add_ref(op).ok());
        EXPECT_EQ(got.values(), want.values()) << cols << gated << added;
      }
    }
  }
}

TEST_P(DenseOps, ScaleAddInPlaceOfEitherOperand) {
  const auto x = random_matrix(2, 40, 9, 30);
  const auto addend = random_matrix(2, 40, 11, 2);
  const auto want = empty_matrix(2, 40);
  const ops::ScaleAdd apart{
      matrix_of(x, 2, 40), {}, 12, matrix_of(addend, 2, 40), matrix_of(want, 2, 40)};
  ASSERT_TRUE(scale_add_ref(apart).ok());
  const auto first = random_matrix(2, 40, 9, 30);
  run(ops::ScaleAdd{
      matrix_of(first, 2, 40), {}, 12, matrix_of(addend, 2, 40), matrix_of(first, 2, 40)});
  EXPECT_EQ(first.values(), want.values());
  run(ops::ScaleAdd{
      matrix_of(x, 2, 40), {}, 12, matrix_of(addend, 2, 40), matrix_of(addend, 2, 40)});
  EXPECT_EQ(addend.values(), want.values());
}

TEST_P(DenseOps, GatherRowsAndCacheStore) {
  const auto table = random_matrix(11, 37, 13);
  const GuardedArray<int32_t> ids(std::vector<int32_t>{10, 0, 5, 5});
  const auto got = empty_matrix(4, 37);
  run(ops::GatherRows{matrix_of(table, 11, 37), view_of(ids), matrix_of(got, 4, 37)});
  for (size_t t = 0; t < 4; ++t) {
    for (size_t c = 0; c < 37; ++c) {
      EXPECT_EQ(got[t * 37 + c], table[static_cast<size_t>(ids[t]) * 37 + c]);
    }
  }
  const auto keys = empty_matrix(8, 37);
  const auto values = empty_matrix(8, 20);
  const auto v = random_matrix(4, 20, 14);
  const GuardedArray<int32_t> slots(std::vector<int32_t>{7, -1, 0, 4});
  run(ops::KvCacheStore{matrix_of(got, 4, 37),
                        matrix_of(v, 4, 20),
                        view_of(slots),
                        {matrix_of(keys, 8, 37), matrix_of(values, 8, 20), 4}});
  EXPECT_EQ(keys[7 * 37 + 36], got[36]);
  EXPECT_EQ(values[4 * 20 + 19], v[3 * 20 + 19]);
  EXPECT_EQ(keys[1 * 37], Bf16{0xffff});
}

// Two sequences over one cache: 45 tokens of which the last `queries` are asked, and 7 of which 1.
TEST_P(DenseOps, AttentionPaged) {
  for (const int64_t page : {1, 7, 16, 32}) {
    for (const int64_t head_dim : {8, 20, 64, 128}) {
      for (const int32_t queries : {1, 2, 19, 45}) {
        const int64_t blocks = 64 / page + 10;
        const int64_t rows = blocks * page;
        const auto keys = random_matrix(rows, 2 * head_dim, 15);
        const auto values = random_matrix(rows, 2 * head_dim, 16);
        const auto q = random_matrix(queries + 1, 4 * head_dim, 17, 2);
        const int64_t max_blocks = 45 / page + 1;
        GuardedArray<int32_t> tables(random_ids(2 * max_blocks, blocks, 18));
        const GuardedArray<int32_t> begin(std::vector<int32_t>{0, queries, queries + 1});
        const GuardedArray<int32_t> context(std::vector<int32_t>{45, 7});
        const auto got = empty_matrix(queries + 1, 4 * head_dim);
        const auto want = empty_matrix(queries + 1, 4 * head_dim);
        ops::AttentionPaged op{
            matrix_of(q, queries + 1, 4 * head_dim),
            {matrix_of(keys, rows, 2 * head_dim), matrix_of(values, rows, 2 * head_dim), page},
            4,
            2,
            head_dim,
            0.2F,
            view_of(tables),
            max_blocks,
            view_of(begin),
            view_of(context),
            matrix_of(got, queries + 1, 4 * head_dim)};
        run(op);
        op.out = matrix_of(want, queries + 1, 4 * head_dim);
        ASSERT_TRUE(attention_paged_ref(op).ok());
        EXPECT_EQ(got.values(), want.values()) << page << ' ' << head_dim << ' ' << queries;
      }
    }
  }
}

TEST_P(DenseOps, RouterTopK) {
  for (const int64_t experts : {4, 60, 128}) {
    for (const bool biased : {false, true}) {
      for (const bool grouped : {false, true}) {
        const GuardedArray<float> logits(random_f32(9 * experts, 19));
        const GuardedArray<float> bias(random_f32(experts, 20));
        const GuardedArray<int32_t> ids(18);
        const GuardedArray<float> weights(18);
        const GuardedArray<int32_t> want_ids(18);
        const GuardedArray<float> want_weights(18);
        ops::RouterTopK op;
        op.logits = matrix_of(logits, 9, experts);
        if (biased) op.bias = view_of(bias);
        op.scoring = biased ? ops::RouterScoring::kSigmoid : ops::RouterScoring::kSoftmax;
        op.renormalize = grouped;
        op.groups = grouped ? 4 : 1;
        op.kept_groups = grouped ? 2 : 1;
        op.group_score = ops::GroupScore::kTop2Sum;
        op.slots = 2;
        op.ids = {ids.data(), 18};
        op.weights = {weights.data(), 18};
        run(op);
        op.ids = {want_ids.data(), 18};
        op.weights = {want_weights.data(), 18};
        ASSERT_TRUE(router_top_k_ref(op).ok());
        EXPECT_EQ(ids.values(), want_ids.values()) << experts << biased << grouped;
        EXPECT_EQ(weights.values(), want_weights.values()) << experts << biased << grouped;
      }
    }
  }
}

TEST_P(DenseOps, SampleTokens) {
  const auto logits = random_matrix(6, 301, 21, 8);
  std::vector<ops::SampleRow> rows(6);
  for (size_t r = 0; r < rows.size(); ++r) {
    rows[r].temperature = static_cast<float>(r) * 0.5F;
    rows[r].top_k = static_cast<int32_t>(r % 3) * 20;
    rows[r].top_p = r % 2 == 0 ? 1.0F : 0.8F;
    rows[r].min_p = r == 5 ? 0.05F : 0.0F;
    rows[r].repetition_penalty = 1.2F;
    rows[r].seed = r;
    rows[r].position = 7;
    rows[r].edit_end = 2;
  }
  const std::vector<ops::LogitEdit> edits = {{3, 1, true, 2}, {9, 0, true, 0}};
  const auto sample = [&](auto&& runner) {
    std::vector<int32_t> tokens(6);
    std::vector<int32_t> top(6 * 4);
    std::vector<float> logprobs(6 * 4);
    std::vector<int32_t> ranks(6);
    runner(ops::SampleTokens{matrix_of(logits, 6, 301),
                             {rows.data(), 6},
                             {edits.data(), 2},
                             {tokens.data(), 6},
                             3,
                             {top.data(), 24},
                             {logprobs.data(), 24},
                             {ranks.data(), 6}});
    return std::tuple(tokens, top, logprobs, ranks);
  };
  const auto want = sample([](const auto& op) { ASSERT_TRUE(sample_tokens_ref(op).ok()); });
  EXPECT_TRUE(sample([&](const auto& op) { run(op); }) == want);
}

TEST_P(DenseOps, IndicesOutsideAreRefusedAndOutputsUntouched) {
  const auto table = random_matrix(4, 8, 22);
  const GuardedArray<int32_t> ids(std::vector<int32_t>{1, 4});
  const auto out = empty_matrix(2, 8);
  EXPECT_FALSE(
      target_.run(ops::GatherRows{matrix_of(table, 4, 8), view_of(ids), matrix_of(out, 2, 8)})
          .ok());
  const auto cache = empty_matrix(4, 8);
  EXPECT_FALSE(target_
                   .run(ops::KvCacheStore{matrix_of(table, 4, 8).rows_from(0, 2),
                                          matrix_of(table, 4, 8).rows_from(0, 2),
                                          view_of(ids),
                                          {matrix_of(cache, 4, 8), matrix_of(cache, 4, 8), 2}})
                   .ok());
  EXPECT_FALSE(
      target_
          .run(ops::Rope{matrix_of(out, 2, 8), 8, 8, false, view_of(ids), matrix_of(table, 4, 8)})
          .ok());
  EXPECT_THAT(out.values(), ::testing::Each(Bf16{0xffff}));
  EXPECT_THAT(cache.values(), ::testing::Each(Bf16{0xffff}));
}

INSTANTIATE_TEST_SUITE_P(Device, DenseOps, ::testing::ValuesIn(target_names()),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace moe::contract
