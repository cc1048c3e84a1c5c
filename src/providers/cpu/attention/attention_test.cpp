#include "providers/cpu/attention/attention.hpp"

#include <algorithm>

#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

// A cache with shuffled pages and sequences of given query and context lengths.
struct Problem {
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 32;
  int64_t value_dim = 32;
  int64_t block_size = 16;
  std::vector<int32_t> queries;
  std::vector<int32_t> contexts;
};

struct CachedSequences {
  Problem p;
  int64_t rows = 0;
  int64_t max_blocks = 0;
  std::vector<int32_t> query_begin{0};
  std::vector<int32_t> tables;
  Matrix keys{0, 0};
  Matrix values{0, 0};
  Matrix q{0, 0};

  explicit CachedSequences(Problem problem, uint64_t seed = 1) : p(std::move(problem)) {
    for (size_t s = 0; s < p.queries.size(); ++s) {
      rows += p.queries[s];
      query_begin.push_back(static_cast<int32_t>(rows));
      max_blocks = std::max(max_blocks, (p.contexts[s] + p.block_size - 1) / p.block_size);
    }
    const int64_t blocks = max_blocks * static_cast<int64_t>(p.contexts.size());
    for (int64_t i = 0; i < blocks; ++i) tables.push_back(static_cast<int32_t>(blocks - 1 - i));
    // What position holds depends on sequence and position alone, not on the page size.
    keys = Matrix(blocks * p.block_size, p.kv_heads * p.head_dim, 1);
    values = Matrix(blocks * p.block_size, p.kv_heads * p.value_dim, 3);
    for (size_t s = 0; s < p.contexts.size(); ++s) {
      for (int64_t position = 0; position < p.contexts[s]; ++position) {
        fill_row(keys, static_cast<int64_t>(s), position, seed + 10);
        fill_row(values, static_cast<int64_t>(s), position, seed + 20);
      }
    }
    q = Matrix::random(rows, p.heads * p.head_dim, seed, 2, 1);
  }

  int64_t cache_row(int64_t s, int64_t position) const {
    const int64_t entry = s * max_blocks + position / p.block_size;
    return tables[static_cast<size_t>(entry)] * p.block_size + position % p.block_size;
  }
  void fill_row(Matrix& matrix, int64_t s, int64_t position, uint64_t seed) {
    for (int64_t c = 0; c < matrix.cols; ++c) {
      const double noise = ops::uniform_noise(seed, s * 1000 + position, c);
      matrix.at(cache_row(s, position), c) = to_bf16(static_cast<float>(4 * noise - 2));
    }
  }
  ops::AttentionPaged op(View out) {
    ops::AttentionPaged op;
    op.q = q.view();
    op.cache = {keys.view(), values.view(), p.block_size};
    op.heads = p.heads;
    op.kv_heads = p.kv_heads;
    op.head_dim = p.head_dim;
    op.scale = 0.4F;
    op.block_tables = const_array(tables);
    op.max_blocks = max_blocks;
    op.query_begin = const_array(query_begin);
    op.context_length = const_array(p.contexts);
    op.out = out;
    return op;
  }
  void check() {
    expect_reference_bits(rows, p.heads * p.value_dim, [&](View out) { return op(out); });
  }
};

TEST(CpuAttention, HasTheReferenceBits) {
  CachedSequences({4, 2, 32, 32, 16, {1, 5, 0, 40}, {1, 37, 9, 40}}).check();
  CachedSequences({6, 6, 33, 17, 8, {3, 1}, {50, 64}}).check();
  CachedSequences({8, 1, 64, 80, 32, {70}, {70}}).check();
  CachedSequences({40, 1, 16, 16, 16, {3}, {20}}).check();
  CachedSequences({17, 1, 16, 8, 16, {3, 2}, {20, 2}}).check();
  CachedSequences({2, 2, 128, 128, 1, {1, 1, 1}, {15, 16, 17}}).check();
  CachedSequences({4, 2, 32, 32, 16, {}, {}}).check();
}

TEST(CpuAttention, NonFiniteCacheStaysInItsRows) {
  for (uint64_t seed = 1; seed < 4; ++seed) {
    CachedSequences setup({4, 2, 24, 24, 16, {30}, {45}}, seed);
    setup.keys.at(setup.cache_row(0, 20), 3) = to_bf16(std::nanf(""));
    setup.keys.at(setup.cache_row(0, 33), 5) = to_bf16(INFINITY);
    setup.values.at(setup.cache_row(0, 40), 7) = to_bf16(-INFINITY);
    setup.check();
  }
}

// Scores of -infinity alone, and very far apart scores (probabilities in the subnormal range).
TEST(CpuAttention, ExtremeScoresHaveTheReferenceBits) {
  CachedSequences setup({2, 1, 16, 16, 16, {20}, {40}});
  for (Bf16& value : setup.q.data) value = to_bf16(to_f32(value) * 12.0F);
  setup.check();
  for (int64_t c = 0; c < 16; ++c) {
    setup.q.at(3, c) = to_bf16(c == 0 ? -INFINITY : 0.0F);
    setup.keys.at(setup.cache_row(0, c), 0) = to_bf16(1.0F);
  }
  setup.check();
}

TEST(CpuAttention, PageSizeAndChunkDoNotChangeARow) {
  for (TestDevice& device : kernel_devices()) {
    CachedSequences whole({4, 2, 32, 32, 16, {45}, {45}});
    Matrix wanted(45, 128);
    ASSERT_TRUE(run_on(device.opened, whole.op(wanted.view())).ok());
    for (int64_t block_size : {1, 4, 7, 16, 64}) {
      CachedSequences other({4, 2, 32, 32, block_size, {45}, {45}});
      Matrix got(45, 128);
      ASSERT_TRUE(run_on(device.opened, other.op(got.view())).ok());
      EXPECT_EQ(got.data, wanted.data) << device.name << " pages of " << block_size;
    }
    // The last rows alone, each as a chunk of one.
    for (int32_t position : {0, 15, 16, 44}) {
      CachedSequences one({4, 2, 32, 32, 16, {1}, {position + 1}});
      std::copy_n(&whole.q.at(position, 0), 128, one.q.data.begin());
      Matrix got(1, 128);
      ASSERT_TRUE(run_on(device.opened, one.op(got.view())).ok());
      for (int64_t c = 0; c < 128; ++c) ASSERT_EQ(got.at(0, c), wanted.at(position, c));
    }
  }
}

TEST(CpuAttention, ForeignBlockIsRefused) {
  CachedSequences setup({4, 2, 32, 32, 16, {2}, {40}});
  for (int32_t bad : {-1, 3}) {
    setup.tables[1] = bad;
    for (TestDevice& device : kernel_devices()) {
      Matrix out(2, 128);
      const Status status = run_on(device.opened, setup.op(out.view()));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

TEST(CpuKvCacheStore, HasTheReferenceBits) {
  Matrix k = Matrix::random(5, 24, 1, 1, 1);
  Matrix v = Matrix::random(5, 16, 2, 1, 2);
  // A slot twice: the later token stays.
  std::vector<int32_t> slots = {7, -1, 0, 7, 3};
  expect_reference_bits([&](OpenedDevice& device) {
    Matrix keys = Matrix::random(8, 24, 5, 1, 3);
    Matrix values = Matrix::random(8, 16, 6);
    const ops::KvCacheStore op{
        k.view(), v.view(), const_array(slots), {keys.view(), values.view(), 4}};
    EXPECT_TRUE(run_on(device, op).ok());
    std::vector<uint32_t> bits = bits_of(keys);
    const std::vector<uint32_t> more = bits_of(values);
    bits.insert(bits.end(), more.begin(), more.end());
    return bits;
  });
  for (int32_t bad : {-2, 8}) {
    slots[3] = bad;
    Matrix keys(8, 24);
    Matrix values(8, 16);
    const ops::KvCacheStore op{
        k.view(), v.view(), const_array(slots), {keys.view(), values.view(), 4}};
    EXPECT_FALSE(run_on(kernel_devices().front().opened, op).ok());
  }
}

}  // namespace
}  // namespace moe::providers::cpu::test
