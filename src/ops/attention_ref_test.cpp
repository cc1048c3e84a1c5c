#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attention.hpp"
#include "ops/test_matrix.hpp"

namespace moe::ops {
namespace {

using test::const_array;
using test::Matrix;
using ::testing::HasSubstr;

// A cache of `length` tokens in pages of `block_size`, pages in reverse order, and queries that are
// its last `queries` tokens.
struct Scene {
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 20;
  int64_t length;
  int64_t block_size;
  Matrix keys;    // by position
  Matrix values;  // by position
  Matrix q;
  Matrix cached_keys;
  Matrix cached_values;
  Matrix out;
  std::vector<int32_t> table;
  std::vector<int32_t> begin;
  std::vector<int32_t> context;

  Scene(int64_t tokens, int64_t page, int64_t queries)
      : length(tokens),
        block_size(page),
        keys(Matrix::random(tokens, 40, 1)),
        values(Matrix::random(tokens, 40, 2)),
        q(Matrix::random(tokens, 80, 3, 2)),
        cached_keys((tokens / page + 2) * page, 40),
        cached_values((tokens / page + 2) * page, 40),
        out(queries, 80) {
    const auto blocks = static_cast<int32_t>(tokens / page + 2);
    std::vector<int32_t> slots;
    for (int32_t b = blocks - 1; b > 0; --b) table.push_back(b);
    for (int64_t t = 0; t < tokens; ++t) {
      slots.push_back(static_cast<int32_t>(table[static_cast<size_t>(t / page)] * page + t % page));
    }
    begin = {0, static_cast<int32_t>(queries)};
    context = {static_cast<int32_t>(tokens)};
    EXPECT_TRUE(kv_cache_store_ref({keys.view(), values.view(), const_array(slots), cache()}).ok());
  }
  KvCacheView cache() { return {cached_keys.view(), cached_values.view(), block_size}; }
  AttentionPaged op() {
    return {q.view().rows_from(length - out.rows, out.rows),
            cache(),
            heads,
            kv_heads,
            head_dim,
            0.25F,
            const_array(table),
            static_cast<int64_t>(table.size()),
            const_array(begin),
            const_array(context),
            out.view()};
  }
  // Attention of position t, head h, component d in FP64.
  double exact(int64_t t, int64_t h, int64_t d) const {
    double sum = 0;
    double weighted = 0;
    for (int64_t j = 0; j <= t; ++j) {
      double score = 0;
      for (int64_t i = 0; i < head_dim; ++i) {
        score += double{q.value(t, h * head_dim + i)} * double{keys.value(j, h / 2 * head_dim + i)};
      }
      sum += std::exp(score * 0.25);
      weighted += std::exp(score * 0.25) * double{values.value(j, h / 2 * head_dim + d)};
    }
    return weighted / sum;
  }
};

TEST(AttentionPaged, FollowsDouble) {
  Scene scene(37, 8, 37);
  ASSERT_TRUE(attention_paged_ref(scene.op()).ok());
  for (int64_t t = 0; t < 37; ++t) {
    for (int64_t c = 0; c < 80; ++c) {
      EXPECT_NEAR(double{scene.out.value(t, c)}, scene.exact(t, c / 20, c % 20), 4e-3) << t << c;
    }
  }
}

TEST(AttentionPaged, BitsDependNeitherOnPageSizeNorOnChunk) {
  Scene whole(37, 16, 37);
  ASSERT_TRUE(attention_paged_ref(whole.op()).ok());
  for (const int64_t page : {1, 5, 8, 32, 64}) {
    for (const int64_t queries : {1, 2, 20, 37}) {
      Scene part(37, page, queries);
      ASSERT_TRUE(attention_paged_ref(part.op()).ok());
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t c = 0; c < 80; ++c) {
          ASSERT_EQ(part.out.at(i, c), whole.out.at(37 - queries + i, c)) << page << ' ' << queries;
        }
      }
    }
  }
}

TEST(AttentionPaged, ProbabilitiesAreRoundedForTheProductButNotForTheSum) {
  // Scores 0 and ln-ish: with one value 1 and one 0, out = b(b(p0)) / (p0 + p1).
  Scene scene(2, 16, 1);
  scene.heads = scene.kv_heads = 1;
  scene.head_dim = 2;
  Matrix q(1, 2, {1, 0});
  Matrix keys(16, 2);
  keys.at(0, 0) = to_bf16(1.5F);  // the lower score, p = e^-0.5
  keys.at(1, 0) = to_bf16(2.0F);
  Matrix values(16, 2);
  values.at(0, 0) = to_bf16(1.0F);
  Matrix out(1, 2);
  AttentionPaged op = scene.op();
  const std::vector<int32_t> table = {0};
  op.block_tables = const_array(table);
  op.max_blocks = 1;
  op.q = q.view();
  op.cache = {keys.view(), values.view(), 16};
  op.scale = 1;
  op.out = out.view();
  ASSERT_TRUE(attention_paged_ref(op).ok());
  const auto p = static_cast<float>(std::exp(-0.5));
  EXPECT_EQ(out.value(0, 0), round_bf16(round_bf16(p) / (1.0F + p)));
}

TEST(AttentionPaged, InfiniteScoresBelowGiveZeroWeightAndNoNan) {
  Scene scene(20, 4, 1);
  ASSERT_TRUE(attention_paged_ref(scene.op()).ok());
  // Keys of positions 0..15 (the whole first tile) become infinite against a positive query.
  for (int64_t c = 0; c < 80; ++c) scene.q.at(19, c) = to_bf16(1.0F);
  for (int32_t t = 0; t < 16; ++t) {
    const int64_t row = scene.table[static_cast<size_t>(t / 4)] * 4 + t % 4;
    for (int64_t c = 0; c < 40; ++c) {
      scene.cached_keys.at(row, c) = to_bf16(-std::numeric_limits<float>::infinity());
    }
  }
  ASSERT_TRUE(attention_paged_ref(scene.op()).ok());
  for (const float value : scene.out.values()) EXPECT_TRUE(std::isfinite(value));
}

TEST(AttentionPaged, ANanQueryLeavesOtherRowsAlone) {
  Scene clean(20, 4, 20);
  ASSERT_TRUE(attention_paged_ref(clean.op()).ok());
  Scene dirty(20, 4, 20);
  for (int64_t c = 0; c < 80; ++c) dirty.q.at(7, c) = Bf16{0x7fc0};
  ASSERT_TRUE(attention_paged_ref(dirty.op()).ok());
  for (int64_t t = 0; t < 20; ++t) {
    for (int64_t c = 0; c < 80; ++c) {
      if (t == 7) {
        EXPECT_TRUE(std::isnan(dirty.out.value(t, c)));
      } else {
        EXPECT_EQ(dirty.out.at(t, c), clean.out.at(t, c));
      }
    }
  }
}

TEST(AttentionPaged, WrongPagesAndLengthsGiveErrors) {
  const auto error_of = [](auto&& change) {
    Scene scene(20, 4, 3);
    change(scene);
    const Status status = attention_paged_ref(scene.op());
    if (status.ok()) return std::string("none");
    EXPECT_EQ(scene.out.at(0, 0), Bf16{});
    return status.error().message;
  };
  EXPECT_THAT(error_of([](Scene& s) { s.table[4] = 7; }), HasSubstr("block_tables[0][4] is 7"));
  EXPECT_THAT(error_of([](Scene& s) { s.table[0] = -1; }), HasSubstr("block_tables[0][0] is -1"));
  EXPECT_THAT(error_of([](Scene& s) { s.context[0] = 2; }), HasSubstr("context length 2"));
  EXPECT_THAT(error_of([](Scene& s) { s.context[0] = 25; }), HasSubstr("context length 25"));
  EXPECT_THAT(error_of([](Scene& s) { s.begin[1] = 2; }),
              HasSubstr("query_begin runs from 0 to 2"));
  EXPECT_EQ(error_of([](Scene& s) { s.table[5] = 99; }), "none");  // a page beyond the context
}

TEST(KvCacheStore, SkipsMinusOneAndRefusesOthersOutside) {
  Matrix k(3, 2, {1, 2, 3, 4, 5, 6});
  Matrix v(3, 2, {7, 8, 9, 10, 11, 12});
  Matrix keys(4, 2);
  Matrix values(4, 2);
  const KvCacheView cache{keys.view(), values.view(), 2};
  std::vector<int32_t> slots = {2, -1, 0};
  ASSERT_TRUE(kv_cache_store_ref({k.view(), v.view(), const_array(slots), cache}).ok());
  EXPECT_THAT(keys.values(), ::testing::ElementsAre(5, 6, 0, 0, 1, 2, 0, 0));
  EXPECT_THAT(values.values(), ::testing::ElementsAre(11, 12, 0, 0, 7, 8, 0, 0));
  for (const int32_t bad : {-2, 4}) {
    slots = {1, bad, 3};
    const Status status = kv_cache_store_ref({k.view(), v.view(), const_array(slots), cache});
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("slots[1]"));
    EXPECT_EQ(keys.value(1, 0), 0);
  }
}

}  // namespace
}  // namespace moe::ops
