#include "verify/component_block.hpp"

#include <numeric>

namespace moe::verify {

Result<ExpertBlock> ExpertBlock::create(VerifyDevice target, const BlockShape& shape,
                                        std::span<const Bf16> x, std::span<const int32_t> ids,
                                        std::span<const float> weights, bool expert_pointers) {
  ExpertBlock block(target, shape);
  DeviceRunner& runner = block.runner_;
  block.x_ = TRY(runner.upload(x));
  block.ids_ = TRY(runner.upload(ids));
  block.weights_ = TRY(runner.upload(weights));
  std::vector<int32_t> rows(ids.size());
  for (size_t p = 0; p < rows.size(); ++p) {
    rows[p] = static_cast<int32_t>(p / static_cast<size_t>(shape.slots));
  }
  block.row_map_ = TRY(runner.upload(std::span<const int32_t>(rows)));
  const auto bytes =
      static_cast<uint64_t>(shape.experts * shape.hidden * shape.intermediate) * sizeof(Bf16);
  block.gate_ = TRY(runner.allocate(bytes));
  block.up_ = TRY(runner.allocate(bytes));
  block.down_ = TRY(runner.allocate(bytes));
  if (expert_pointers) TRY(block.set_pointers());
  return block;
}

Status ExpertBlock::set_pointers() {
  std::vector<int64_t> addresses;
  const int64_t bytes = shape_.hidden * shape_.intermediate * size_of(DType::kBf16);
  for (const Buffer* weights : {&gate_, &up_, &down_}) {
    for (int64_t e = 0; e < shape_.experts; ++e) {
      addresses.push_back(
          reinterpret_cast<int64_t>(static_cast<std::byte*>(weights->data()) + e * bytes));
    }
  }
  pointers_ = TRY(runner_.upload(std::span<const int64_t>(addresses)));
  with_pointers_ = true;
  return {};
}

Status ExpertBlock::fill_expert(int64_t expert, std::span<const Bf16> gate,
                                std::span<const Bf16> up, std::span<const Bf16> down) {
  const uint64_t offset = static_cast<uint64_t>(expert) * gate.size_bytes();
  const auto copy = [&](const Buffer& buffer, std::span<const Bf16> values) {
    return runner_.copy_in(static_cast<std::byte*>(buffer.data()) + offset, values.data(),
                           values.size_bytes());
  };
  TRY(copy(gate_, gate));
  TRY(copy(up_, up));
  return copy(down_, down);
}

ops::ExpertMatrices ExpertBlock::matrices(const Buffer& weights, int64_t which, int64_t rows,
                                          int64_t cols) const {
  ops::ExpertMatrices w;
  if (with_pointers_) {
    const auto* addresses = static_cast<const int64_t*>(pointers_.data());
    w.pointers = {addresses + which * shape_.experts, shape_.experts};
  } else {
    w.base = static_cast<const Bf16*>(weights.data());
    w.expert_stride = rows * cols;
  }
  w.row_stride = cols;
  w.experts = shape_.experts;
  w.rows = rows;
  w.cols = cols;
  return w;
}

Result<BlockOutputs> ExpertBlock::run(ops::MoeNumerics numerics) {
  const int64_t pairs = shape_.tokens * shape_.slots;
  const int64_t hidden = shape_.hidden;
  const int64_t inner = shape_.intermediate;
  const auto bytes = [](int64_t rows, int64_t cols) {
    return static_cast<uint64_t>(rows * cols) * sizeof(Bf16);
  };
  Buffer act = TRY(runner_.output(bytes(pairs, inner)));
  Buffer rows = TRY(runner_.output(bytes(pairs, hidden)));
  Buffer sums = TRY(runner_.output(bytes(shape_.tokens, hidden)));
  const View act_view = device_matrix(act, pairs, inner);
  const View rows_view = device_matrix(rows, pairs, hidden);
  const View y = device_matrix(sums, shape_.tokens, hidden);
  const Array<const int32_t> ids = device_array<int32_t>(ids_, pairs);
  const Array<const float> weights = device_array<float>(weights_, pairs);
  const ops::ExpertMatrices down = matrices(down_, 2, hidden, inner);

  ops::PairMap input{{}, ids};  // with one slot a token, pair p reads row p
  if (shape_.slots > 1) input.row_map = device_array<int32_t>(row_map_, pairs);
  TRY(runner_.run(ops::MoeGateUpSilu{numerics, device_matrix(x_, shape_.tokens, hidden), input,
                                     matrices(gate_, 0, inner, hidden),
                                     matrices(up_, 1, inner, hidden), act_view}));
  const ops::PairMap own{{}, ids};
  if (numerics == ops::MoeNumerics::kNative) {
    TRY(runner_.run(ops::MoeGroupedGemmWeighted{act_view, own, down, weights, rows_view}));
    TRY(runner_.run(ops::MoeCombinePreweighted{rows_view, ids, shape_.slots, y}));
  } else {
    TRY(runner_.run(ops::MoeGroupedGemm{act_view, own, down, rows_view}));
    TRY(runner_.run(ops::MoeCombine{rows_view, ids, weights, shape_.slots, y}));
  }
  BlockOutputs outputs;
  outputs.act = TRY(runner_.download<Bf16>(act, static_cast<uint64_t>(pairs * inner)));
  outputs.down = TRY(runner_.download<Bf16>(rows, static_cast<uint64_t>(pairs * hidden)));
  outputs.y = TRY(runner_.download<Bf16>(sums, static_cast<uint64_t>(shape_.tokens * hidden)));
  return outputs;
}

}  // namespace moe::verify
