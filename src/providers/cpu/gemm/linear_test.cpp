#include "ops/dense.hpp"
#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

void check_linear(int64_t rows, int64_t n, int64_t k, bool bias, uint64_t seed,
                  bool non_finite = false) {
  SCOPED_TRACE("T=" + std::to_string(rows) + " N=" + std::to_string(n) + " K=" + std::to_string(k));
  // Odd padding: most rows are aligned to two bytes only.
  Matrix x = Matrix::random(rows, k, seed, 1, 1);
  Matrix w = Matrix::random(n, k, seed + 1, 1, 3);
  Matrix b = Matrix::random(1, n, seed + 2);
  if (non_finite) {
    add_non_finite(x, seed);
    add_non_finite(w, seed + 1);
  }
  const ConstView bias_view = bias ? ConstView(b.view()) : ConstView{};
  expect_reference_bits(rows, n,
                        [&](View y) { return ops::Linear{x.view(), w.view(), bias_view, y}; });
  expect_reference_bits([&](OpenedDevice& device) {
    std::vector<float> y(static_cast<size_t>(rows * n), -1.0F);
    const ops::Linear op{x.view(), w.view(), bias_view, {y.data(), DType::kF32, rows, n, n}};
    EXPECT_TRUE(run_on(device, op).ok());
    return bits_of(y);
  });
}

TEST(CpuLinear, EveryTailOfKHasTheReferenceBits) {
  for (int64_t k = 1; k <= 70; ++k) check_linear(3, 5, k, false, static_cast<uint64_t>(k));
  for (int64_t k : {511, 1024, 1055}) check_linear(5, 9, k, true, 7);
}

TEST(CpuLinear, EveryTileRemainderHasTheReferenceBits) {
  for (int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    for (int64_t n : {1, 2, 3, 4, 7, 8, 9, 31, 33}) check_linear(rows, n, 40, rows % 2 == 0, 11);
  }
}

TEST(CpuLinear, SeveralBlocksHaveTheReferenceBits) {
  for (int64_t rows : {63, 64, 65, 129}) check_linear(rows, 70, 96, true, 3);
}

TEST(CpuLinear, NonFiniteValuesGoWhereTheReferencePutsThem) {
  for (uint64_t seed = 0; seed < 4; ++seed) check_linear(6, 12, 37, false, seed, true);
}

TEST(CpuLinear, ARowAloneHasTheBitsOfTheRowAmongOthers) {
  constexpr int64_t kRows = 67;
  Matrix x = Matrix::random(kRows, 96, 1);
  Matrix w = Matrix::random(40, 96, 2);
  for (TestDevice& device : kernel_devices()) {
    Matrix all(kRows, 40);
    ASSERT_TRUE(run_on(device.opened, ops::Linear{x.view(), w.view(), {}, all.view()}).ok());
    for (int64_t r = 0; r < kRows; ++r) {
      Matrix one(1, 40);
      const View row = x.view().rows_from(r, 1);
      ASSERT_TRUE(run_on(device.opened, ops::Linear{row, w.view(), {}, one.view()}).ok());
      for (int64_t n = 0; n < 40; ++n) ASSERT_EQ(one.at(0, n), all.at(r, n)) << device.name;
    }
  }
}

TEST(CpuLinear, WrongShapeIsRefusedAndLeavesTheOutputAlone) {
  Matrix x = Matrix::random(2, 8, 1);
  Matrix w = Matrix::random(3, 9, 2);
  for (TestDevice& device : kernel_devices()) {
    Matrix y = Matrix::random(2, 3, 5);
    const std::vector<Bf16> before = y.data;
    const Status status = run_on(device.opened, ops::Linear{x.view(), w.view(), {}, y.view()});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(y.data, before);
  }
}

}  // namespace
}  // namespace moe::providers::cpu::test
