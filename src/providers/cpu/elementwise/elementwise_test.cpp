#include "providers/cpu/elementwise/elementwise.hpp"

#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

constexpr int64_t kWidths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 257};

TEST(CpuRmsNorm, HasTheReferenceBits) {
  for (int64_t cols : kWidths) {
    for (bool residual : {false, true}) {
      SCOPED_TRACE("C=" + std::to_string(cols) + (residual ? " residual" : ""));
      Matrix x = Matrix::random(5, cols, 1, 3, 1);
      if (cols == 100) add_non_finite(x, 4);
      Matrix weight = Matrix::random(1, cols, 2);
      expect_reference_bits([&](OpenedDevice& device) {
        Matrix z = Matrix::random(5, cols, 3, 2, 5);
        Matrix out(5, cols, 2);
        const ops::RmsNorm op{x.view(), residual ? z.view() : View{}, weight.view(), 1e-6F,
                              out.view()};
        EXPECT_TRUE(run_on(device, op).ok());
        std::vector<uint32_t> bits = bits_of(out);
        const std::vector<uint32_t> more = bits_of(z);
        bits.insert(bits.end(), more.begin(), more.end());
        return bits;
      });
    }
  }
}

TEST(CpuRmsNorm, InPlaceHasTheReferenceBits) {
  Matrix weight = Matrix::random(1, 72, 2);
  expect_reference_bits([&](OpenedDevice& device) {
    Matrix x = Matrix::random(70, 72, 1);
    EXPECT_TRUE(run_on(device, ops::RmsNorm{x.view(), {}, weight.view(), 1e-5F, x.view()}).ok());
    return bits_of(x);
  });
}

TEST(CpuRope, HasTheReferenceBits) {
  for (bool interleaved : {false, true}) {
    for (int64_t rotary : {2, 16, 34, 64}) {
      SCOPED_TRACE("rotary_dim=" + std::to_string(rotary));
      Matrix table = Matrix::random(50, rotary, 3);
      std::vector<int32_t> positions = {49, 0, 7, 7, 31};
      expect_reference_bits([&](OpenedDevice& device) {
        Matrix x = Matrix::random(5, 3 * 64, 1, 4, 1);
        const ops::Rope op{x.view(), 64, rotary, interleaved, const_array(positions), table.view()};
        EXPECT_TRUE(run_on(device, op).ok());
        return bits_of(x);
      });
    }
  }
}

TEST(CpuSiluMul, HasTheReferenceBitsForBf16) {
  for (int64_t cols : kWidths) {
    Matrix gate = Matrix::random(4, cols, 5, 30, 1);
    Matrix up = Matrix::random(4, cols, 6, 3, 2);
    add_non_finite(gate, 1);
    expect_reference_bits(4, cols,
                          [&](View out) { return ops::SiluMul{gate.view(), up.view(), out}; });
  }
}

// All BF16 values as gate: the exponential of every one.
TEST(CpuSiluMul, EveryBf16GateHasTheReferenceBits) {
  Matrix gate(256, 256);
  for (size_t i = 0; i < gate.data.size(); ++i) gate.data[i].bits = static_cast<uint16_t>(i);
  Matrix up = Matrix::random(256, 256, 6, 3);
  expect_reference_bits(256, 256,
                        [&](View out) { return ops::SiluMul{gate.view(), up.view(), out}; });
}

TEST(CpuSiluMul, HasTheReferenceBitsForF32) {
  for (int64_t cols : kWidths) {
    std::vector<float> gate;
    std::vector<float> up;
    for (int64_t i = 0; i < 4 * cols; ++i) {
      gate.push_back(static_cast<float>(240 * ops::uniform_noise(1, 2, i) - 120));
      up.push_back(static_cast<float>(ops::uniform_noise(1, 3, i)));
    }
    gate[0] = std::nanf("");
    const View gate_view{gate.data(), DType::kF32, 4, cols, cols};
    const View up_view{up.data(), DType::kF32, 4, cols, cols};
    expect_reference_bits(4, cols, [&](View out) { return ops::SiluMul{gate_view, up_view, out}; });
  }
}

TEST(CpuGatherRows, CopiesRowsAndRefusesForeignIds) {
  Matrix table = Matrix::random(11, 19, 1, 1, 1);
  std::vector<int32_t> ids = {10, 0, 3, 3, 7};
  expect_reference_bits(
      5, 19, [&](View out) { return ops::GatherRows{table.view(), const_array(ids), out}; });
  for (int32_t bad : {-1, 11}) {
    ids[2] = bad;
    for (TestDevice& device : kernel_devices()) {
      Matrix out(5, 19);
      const Status status =
          run_on(device.opened, ops::GatherRows{table.view(), const_array(ids), out.view()});
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

// Greedy, filtered, penalised and biased rows.
std::vector<ops::SampleRow> sample_rows() {
  std::vector<ops::SampleRow> rows(6);
  rows[0].temperature = 0;
  rows[1].top_k = 5;
  rows[2].top_p = 0.7F;
  rows[3].min_p = 0.2F;
  rows[4].repetition_penalty = 1.3F;
  rows[4].edit_end = 2;
  rows[5].temperature = 0;
  rows[5].edit_begin = 2;
  rows[5].edit_end = 3;
  for (size_t r = 0; r < rows.size(); ++r) rows[r].seed = 17 * r;
  return rows;
}

TEST(CpuSampleTokens, HasTheReferenceTokensAndLogprobs) {
  Matrix logits = Matrix::random(6, 301, 9, 6, 1);
  logits.at(0, 300) = to_bf16(std::nanf(""));
  std::vector<ops::SampleRow> rows = sample_rows();
  std::vector<ops::LogitEdit> edits = {{4, 2, true, 0}, {9, 0, true, 1}, {0, 0, false, 50}};
  for (int32_t top : {0, 3}) {
    expect_reference_bits([&](OpenedDevice& device) {
      std::vector<int32_t> tokens(6);
      std::vector<int32_t> ids(static_cast<size_t>(6 * (top + 1)));
      std::vector<float> logprobs(ids.size());
      std::vector<int32_t> ranks(6);
      const ops::SampleTokens op{
          logits.view(), const_array(rows), const_array(edits), array(tokens),
          top,           array(ids),        array(logprobs),    array(ranks)};
      EXPECT_TRUE(run_on(device, op).ok());
      std::vector<uint32_t> bits = bits_of(logprobs);
      for (const auto& list : {tokens, ids, ranks}) {
        for (int32_t value : list) bits.push_back(static_cast<uint32_t>(value));
      }
      return bits;
    });
  }
}

TEST(CpuSampleTokens, ARowWithoutFiniteLogitFailsAlone) {
  Matrix logits = Matrix::random(6, 301, 9);
  for (int64_t v = 0; v < 301; ++v) logits.at(3, v) = to_bf16(-INFINITY);
  std::vector<ops::SampleRow> rows(6);
  for (TestDevice& device : kernel_devices()) {
    std::vector<int32_t> tokens(6);
    const ops::SampleTokens op{logits.view(), const_array(rows), {}, array(tokens), 0, {}, {}, {}};
    ASSERT_TRUE(run_on(device.opened, op).ok());
    for (size_t r = 0; r < tokens.size(); ++r) {
      EXPECT_EQ(tokens[r] == ops::kNoToken, r == 3) << r;
    }
  }
}

}  // namespace
}  // namespace moe::providers::cpu::test
