#include "providers/cpu/moe/routing.hpp"

#include "providers/cpu/test_devices.hpp"

namespace moe::providers::cpu::test {
namespace {

std::vector<int32_t> some_ids(int64_t pairs, int64_t experts, uint64_t seed) {
  std::vector<int32_t> ids;
  for (int64_t p = 0; p < pairs; ++p) {
    const double roll = ops::uniform_noise(seed, 5, p) * static_cast<double>(experts + 1);
    ids.push_back(static_cast<int32_t>(roll) - 1);
  }
  return ids;
}

TEST(CpuCombine, HasTheReferenceBits) {
  for (int64_t slots : {1, 2, 3, 8}) {
    for (int64_t cols : {1, 16, 33, 100}) {
      Matrix rows = Matrix::random(6 * slots, cols, 1, 2, 1);
      if (slots == 3) add_non_finite(rows, 2);
      const std::vector<int32_t> ids = some_ids(6 * slots, 4, 3);
      std::vector<float> weights;
      for (int64_t p = 0; p < 6 * slots; ++p) {
        weights.push_back(static_cast<float>(ops::uniform_noise(4, 4, p)));
      }
      expect_reference_bits(6, cols, [&](View y) {
        return ops::MoeCombine{rows.view(), const_array(ids), const_array(weights), slots, y};
      });
      expect_reference_bits(6, cols, [&](View y) {
        return ops::MoeCombinePreweighted{rows.view(), const_array(ids), slots, y};
      });
    }
  }
}

void check_router(ops::RouterTopK op, ConstView logits) {
  op.logits = logits;
  expect_reference_bits([&](OpenedDevice& device) {
    const size_t entries = static_cast<size_t>(logits.rows * op.slots);
    std::vector<int32_t> ids(entries);
    std::vector<float> weights(entries);
    op.ids = array(ids);
    op.weights = array(weights);
    EXPECT_TRUE(run_on(device, op).ok());
    std::vector<uint32_t> bits = bits_of(weights);
    for (int32_t id : ids) bits.push_back(static_cast<uint32_t>(id));
    return bits;
  });
}

TEST(CpuRouter, HasTheReferenceChoiceAndWeights) {
  constexpr int64_t kRows = 23;
  for (int64_t experts : {8, 16, 60, 128}) {
    Matrix logits = Matrix::random(kRows, experts, 5, 4, 1);
    // Ties, non-finite values, and rows of nothing but NaN.
    for (int64_t e = 0; e < experts; ++e) {
      logits.at(2, e) = to_bf16(1.0F);
      logits.at(3, e) = to_bf16(std::nanf(""));
      if (e % 3 == 0) logits.at(4, e) = to_bf16(INFINITY);
      if (e % 2 == 0) logits.at(5, e) = to_bf16(-INFINITY);
      if (e > 1) logits.at(6, e) = to_bf16(std::nanf(""));
    }
    std::vector<float> wide;
    for (int64_t i = 0; i < kRows * experts; ++i) {
      wide.push_back(static_cast<float>(6 * ops::uniform_noise(7, 7, i)));
    }
    std::vector<float> bias;
    for (int64_t e = 0; e < experts; ++e) bias.push_back(static_cast<float>(e % 5) * 0.1F);
    for (auto scoring : {ops::RouterScoring::kSoftmax, ops::RouterScoring::kSoftmaxAfterTopK,
                         ops::RouterScoring::kSigmoid}) {
      for (bool renormalize : {false, true}) {
        ops::RouterTopK op;
        op.scoring = scoring;
        op.renormalize = renormalize;
        op.slots = 4;
        op.scale = 1.5F;
        check_router(op, logits.view());
        check_router(op, {wide.data(), DType::kF32, kRows, experts, experts});
        op.bias = const_array(bias);
        check_router(op, logits.view());
        op.groups = 4;
        op.kept_groups = 2;
        op.group_score = ops::GroupScore::kTop2Sum;
        check_router(op, logits.view());
      }
    }
  }
}

}  // namespace
}  // namespace moe::providers::cpu::test
