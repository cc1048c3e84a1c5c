#include "ops/moe_chain.hpp"

namespace moe::ops {
namespace {

ConstView matrix(DType dtype, int64_t rows, int64_t cols) {
  return {nullptr, dtype, rows, cols, cols};
}
View out_matrix(DType dtype, int64_t rows, int64_t cols) {
  return {nullptr, dtype, rows, cols, cols};
}

ExpertMatrices experts(const MoeShape& shape, int64_t rows, int64_t cols) {
  ExpertMatrices matrices;
  matrices.expert_stride = rows * cols;
  matrices.row_stride = cols;
  matrices.experts = shape.experts;
  matrices.rows = rows;
  matrices.cols = cols;
  return matrices;
}

}  // namespace

MoeChain select_moe_chain(OpTable& table, const MoeShape& shape, MoeNumerics wanted) {
  MoeChain chain;
  if (wanted == MoeNumerics::kLegacy) return chain;
  const int64_t pairs = shape.slots;
  const ConstView x = matrix(DType::kBf16, 1, shape.hidden);
  const ConstView act = matrix(DType::kBf16, pairs, shape.intermediate);
  const ConstView rows = matrix(DType::kBf16, pairs, shape.hidden);
  const View y = out_matrix(DType::kBf16, 1, shape.hidden);
  const View pair_rows = out_matrix(DType::kBf16, pairs, shape.hidden);
  const ExpertMatrices wide = experts(shape, shape.intermediate, shape.hidden);
  const ExpertMatrices down = experts(shape, shape.hidden, shape.intermediate);

  const auto require = [&](const auto& desc) {
    if (table.find(desc) == nullptr) chain.missing.push_back(desc.kId);
  };
  MoeGateUpSilu gate_up{
      MoeNumerics::kNative, x, {}, wide, wide, out_matrix(DType::kBf16, pairs, shape.intermediate)};
  require(gate_up);
  require(MoeGroupedGemm{act, {}, down, pair_rows});
  require(MoeGroupedGemmWeighted{act, {}, down, {}, pair_rows});
  require(MoeCombine{rows, {}, {}, shape.slots, y});
  require(MoeCombinePreweighted{rows, {}, shape.slots, y});
  for (OpId missing : chain.missing) table.count_chain_refusal(missing);
  if (chain.missing.empty()) chain.numerics = MoeNumerics::kNative;
  return chain;
}

}  // namespace moe::ops
