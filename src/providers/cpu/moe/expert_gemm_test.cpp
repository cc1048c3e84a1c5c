#include "providers/cpu/moe/expert_gemm.hpp"

#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

// One problem: T tokens, K slots, E experts; some pairs are not on this rank.
struct Problem {
  int64_t tokens;
  int64_t slots;
  int64_t experts;
  int64_t hidden;
  int64_t inner;
  uint64_t seed;

  int64_t pairs() const { return tokens * slots; }
  std::string name() const {
    return "T=" + std::to_string(tokens) + " k=" + std::to_string(slots) +
           " E=" + std::to_string(experts) + " H=" + std::to_string(hidden) +
           " I=" + std::to_string(inner) + " seed=" + std::to_string(seed);
  }
  std::vector<int32_t> expert_ids() const {
    std::vector<int32_t> ids;
    for (int64_t p = 0; p < pairs(); ++p) {
      const double roll = ops::uniform_noise(seed, 5, p) * static_cast<double>(experts + 1);
      ids.push_back(static_cast<int32_t>(roll) - 1);
    }
    return ids;
  }
  std::vector<int32_t> row_map() const {
    std::vector<int32_t> rows;
    for (int64_t p = 0; p < pairs(); ++p) rows.push_back(static_cast<int32_t>(p / slots));
    return rows;
  }
  std::vector<float> routing_weights() const {
    std::vector<float> weights;
    for (int64_t p = 0; p < pairs(); ++p) {
      weights.push_back(static_cast<float>(ops::uniform_noise(seed, 6, p)));
    }
    return weights;
  }
};

std::vector<Problem> problems() {
  return {{1, 1, 1, 8, 1, 1},     {1, 8, 16, 64, 48, 2},  {3, 2, 4, 65, 33, 3},
          {17, 4, 5, 40, 70, 4},  {70, 3, 2, 33, 35, 5},  {5, 1, 64, 96, 32, 6},
          {0, 2, 4, 16, 16, 7},   {40, 6, 300, 16, 9, 8}, {2, 2, 2, 511, 5, 9},
          {130, 1, 1, 32, 32, 10}};
}

struct Weights {
  Matrix gate;
  Matrix up;
  Matrix down;
  explicit Weights(const Problem& p)
      : gate(Matrix::random(p.experts * p.inner, p.hidden, p.seed + 1, 1, 1)),
        up(Matrix::random(p.experts * p.inner, p.hidden, p.seed + 2, 1, 2)),
        down(Matrix::random(p.experts * p.hidden, p.inner, p.seed + 3, 1, 3)) {}
};

TEST(CpuGateUpSilu, HasTheReferenceBits) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(p.name());
    Weights w(p);
    Matrix x = Matrix::random(p.tokens, p.hidden, p.seed, 1, 1);
    if (p.seed % 3 == 0) add_non_finite(x, p.seed);
    const std::vector<int32_t> ids = p.expert_ids();
    const std::vector<int32_t> rows = p.row_map();
    for (ops::MoeNumerics numerics : {ops::MoeNumerics::kNative, ops::MoeNumerics::kLegacy}) {
      expect_reference_bits(p.pairs(), p.inner, [&](View act) {
        return ops::MoeGateUpSilu{numerics,
                                  x.view(),
                                  {const_array(rows), const_array(ids)},
                                  expert_matrices(w.gate, p.experts),
                                  expert_matrices(w.up, p.experts),
                                  act};
      });
    }
  }
}

TEST(CpuGroupedGemm, HasTheReferenceBitsInBothTypes) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(p.name());
    Weights w(p);
    Matrix x = Matrix::random(p.pairs(), p.inner, p.seed, 1, 1);
    const std::vector<int32_t> ids = p.expert_ids();
    const ops::ExpertMatrices down = expert_matrices(w.down, p.experts);
    expect_reference_bits(p.pairs(), p.hidden, [&](View y) {
      return ops::MoeGroupedGemm{x.view(), {{}, const_array(ids)}, down, y};
    });
    expect_reference_bits([&](OpenedDevice& device) {
      std::vector<float> y(static_cast<size_t>(p.pairs() * p.hidden), -1.0F);
      const View view{y.data(), DType::kF32, p.pairs(), p.hidden, p.hidden};
      EXPECT_TRUE(
          run_on(device, ops::MoeGroupedGemm{x.view(), {{}, const_array(ids)}, down, view}).ok());
      return bits_of(y);
    });
  }
}

TEST(CpuGroupedGemmWeighted, HasTheReferenceBits) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(p.name());
    Weights w(p);
    Matrix x = Matrix::random(p.pairs(), p.inner, p.seed, 1, 1);
    const std::vector<int32_t> ids = p.expert_ids();
    const std::vector<float> weights = p.routing_weights();
    const ops::ExpertMatrices down = expert_matrices(w.down, p.experts);
    expect_reference_bits(p.pairs(), p.hidden, [&](View y) {
      return ops::MoeGroupedGemmWeighted{
          x.view(), {{}, const_array(ids)}, down, const_array(weights), y};
    });
  }
}

// Experts anywhere in memory, by address.
TEST(CpuGateUpSilu, ExpertsByAddressHaveTheBitsOfExpertsByStride) {
  const Problem p{9, 3, 6, 40, 20, 3};
  Weights w(p);
  Matrix x = Matrix::random(p.tokens, p.hidden, p.seed);
  const std::vector<int32_t> ids = p.expert_ids();
  const std::vector<int32_t> rows = p.row_map();
  ops::ExpertMatrices gate = expert_matrices(w.gate, p.experts);
  std::vector<int64_t> addresses;
  for (int64_t e = 0; e < p.experts; ++e) {
    addresses.push_back(reinterpret_cast<int64_t>(gate.expert(e)));
  }
  ops::ExpertMatrices by_address = gate;
  by_address.base = nullptr;
  by_address.pointers = const_array(addresses);
  const ops::ExpertMatrices up = expert_matrices(w.up, p.experts);
  for (TestDevice& device : kernel_devices()) {
    Matrix a(p.pairs(), p.inner);
    Matrix b(p.pairs(), p.inner);
    const ops::PairMap pairs{const_array(rows), const_array(ids)};
    const auto native = ops::MoeNumerics::kNative;
    ASSERT_TRUE(
        run_on(device.opened, ops::MoeGateUpSilu{native, x.view(), pairs, gate, up, a.view()})
            .ok());
    ASSERT_TRUE(
        run_on(device.opened, ops::MoeGateUpSilu{native, x.view(), pairs, by_address, up, b.view()})
            .ok());
    EXPECT_EQ(a.data, b.data);
  }
}

// The fused legacy op is two products with FP32 outputs and the FP32 activation, byte for byte; the
// native one is two products rounded to BF16 and the BF16 activation.
TEST(CpuGateUpSilu, FusedIsTheCompositeByteForByte) {
  const Problem p{21, 3, 6, 70, 45, 3};
  Weights w(p);
  Matrix x = Matrix::random(p.tokens, p.hidden, p.seed);
  std::vector<int32_t> ids = p.expert_ids();
  const std::vector<int32_t> rows = p.row_map();
  const ops::PairMap pairs{const_array(rows), const_array(ids)};
  const ops::ExpertMatrices gate = expert_matrices(w.gate, p.experts);
  const ops::ExpertMatrices up = expert_matrices(w.up, p.experts);
  for (TestDevice& device : kernel_devices()) {
    for (DType dtype : {DType::kF32, DType::kBf16}) {
      const auto numerics =
          dtype == DType::kF32 ? ops::MoeNumerics::kLegacy : ops::MoeNumerics::kNative;
      std::vector<float> memory(static_cast<size_t>(2 * p.pairs() * p.inner));
      const View g{memory.data(), dtype, p.pairs(), p.inner, p.inner};
      const View u{memory.data() + p.pairs() * p.inner, dtype, p.pairs(), p.inner, p.inner};
      Matrix fused(p.pairs(), p.inner);
      Matrix composed(p.pairs(), p.inner);
      OpenedDevice& d = device.opened;
      ASSERT_TRUE(
          run_on(d, ops::MoeGateUpSilu{numerics, x.view(), pairs, gate, up, fused.view()}).ok());
      ASSERT_TRUE(run_on(d, ops::MoeGroupedGemm{x.view(), pairs, gate, g}).ok());
      ASSERT_TRUE(run_on(d, ops::MoeGroupedGemm{x.view(), pairs, up, u}).ok());
      ASSERT_TRUE(run_on(d, ops::SiluMul{g, u, composed.view()}).ok());
      EXPECT_EQ(fused.data, composed.data) << device.name;
    }
  }
}

TEST(CpuGateUpSilu, APairAloneHasTheBitsOfThePairAmongOthers) {
  const Problem p{90, 2, 3, 50, 37, 12};
  Weights w(p);
  Matrix x = Matrix::random(p.tokens, p.hidden, p.seed);
  std::vector<int32_t> ids = p.expert_ids();
  std::vector<int32_t> rows = p.row_map();
  const ops::ExpertMatrices gate = expert_matrices(w.gate, p.experts);
  const ops::ExpertMatrices up = expert_matrices(w.up, p.experts);
  TestDevice& device = kernel_devices().back();
  Matrix all(p.pairs(), p.inner);
  const auto native = ops::MoeNumerics::kNative;
  const ops::PairMap every{const_array(rows), const_array(ids)};
  ASSERT_TRUE(
      run_on(device.opened, ops::MoeGateUpSilu{native, x.view(), every, gate, up, all.view()})
          .ok());
  for (int64_t i = 0; i < p.pairs(); ++i) {
    Matrix one(1, p.inner);
    const ops::PairMap pair{{rows.data() + i, 1}, {ids.data() + i, 1}};
    ASSERT_TRUE(
        run_on(device.opened, ops::MoeGateUpSilu{native, x.view(), pair, gate, up, one.view()})
            .ok());
    for (int64_t c = 0; c < p.inner; ++c) ASSERT_EQ(one.at(0, c), all.at(i, c)) << "pair " << i;
  }
}

struct BadIndex {
  int64_t pair;
  int32_t expert;
  int32_t row;
  const char* named;
};

TEST(CpuGroupedGemm, ForeignIndexIsNamedAndNothingIsWritten) {
  const Problem p{4, 2, 3, 16, 16, 1};
  Weights w(p);
  Matrix x = Matrix::random(p.tokens, p.inner, 1);
  const ops::ExpertMatrices down = expert_matrices(w.down, p.experts);
  for (const BadIndex& bad :
       {BadIndex{5, 3, 0, "expert_ids[5] is 3"}, BadIndex{2, -2, 0, "expert_ids[2] is -2"},
        BadIndex{7, 0, 4, "row_map[7] is 4"}, BadIndex{1, 0, -1, "row_map[1] is -1"}}) {
    std::vector<int32_t> ids(8, 1);
    std::vector<int32_t> rows(8, 0);
    ids[static_cast<size_t>(bad.pair)] = bad.expert;
    rows[static_cast<size_t>(bad.pair)] = bad.row;
    for (TestDevice& device : kernel_devices()) {
      Matrix y = Matrix::random(8, p.hidden, 3);
      const std::vector<Bf16> before = y.data;
      const Status status = run_on(
          device.opened,
          ops::MoeGroupedGemm{x.view(), {const_array(rows), const_array(ids)}, down, y.view()});
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
      EXPECT_NE(status.error().message.find(bad.named), std::string::npos)
          << status.error().message;
      EXPECT_EQ(y.data, before);
    }
  }
}

TEST(CpuGroupedGemm, SmallWorkspaceIsRefused) {
  const Problem p{4, 2, 3, 16, 16, 1};
  Weights w(p);
  Matrix x = Matrix::random(p.pairs(), p.inner, 1);
  Matrix y(p.pairs(), p.hidden);
  const std::vector<int32_t> ids = p.expert_ids();
  const ops::MoeGroupedGemm op{
      x.view(), {{}, const_array(ids)}, expert_matrices(w.down, p.experts), y.view()};
  OpenedDevice& opened = kernel_devices().front().opened;
  const auto* variant = *opened.table->select(op);
  const uint64_t bytes = variant->workspace_bytes(op, opened.device->facts());
  std::vector<int64_t> memory(bytes / 8 + 1);
  EXPECT_TRUE(variant->run(op, *opened.device, {memory.data(), bytes}).ok());
  for (ops::Workspace small : {ops::Workspace{memory.data(), bytes - 1}, ops::Workspace{}}) {
    const Status status = variant->run(op, *opened.device, small);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(status.error().message.find(std::to_string(bytes)), std::string::npos);
  }
}

}  // namespace
}  // namespace moe::providers::cpu::test
