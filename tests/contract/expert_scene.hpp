// Random expert blocks in guarded memory, and descriptions over them, for contract tests.
#pragma once

#include <string>
#include <vector>

#include "contract/guarded.hpp"
#include "ops/moe.hpp"
#include "ops/noise.hpp"

namespace moe::contract {

struct SceneShape {
  int64_t tokens;
  int64_t hidden;
  int64_t inner;
  int64_t experts;
  int64_t slots;

  std::string text() const {
    return "moe T=" + std::to_string(tokens) + " H=" + std::to_string(hidden) +
           " I=" + std::to_string(inner) + " E=" + std::to_string(experts) +
           " k=" + std::to_string(slots);
  }
};

inline std::vector<Bf16> random_bf16(int64_t count, uint64_t seed, float scale) {
  std::vector<Bf16> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const double unit = 2 * ops::uniform_noise(seed, 1, static_cast<int64_t>(i)) - 1;
    values[i] = to_bf16(static_cast<float>(unit) * scale);
  }
  return values;
}

inline std::vector<int32_t> random_ids(int64_t count, int64_t end, uint64_t seed) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) {
    const double unit = ops::uniform_noise(seed, 2, static_cast<int64_t>(i));
    ids[i] = static_cast<int32_t>(unit * static_cast<double>(end));
  }
  return ids;
}

inline std::vector<float> random_f32(int64_t count, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(ops::uniform_noise(seed, 3, static_cast<int64_t>(i)));
  }
  return values;
}

template <class T>
Array<const T> view_of(const GuardedArray<T>& array) {
  return {array.data(), static_cast<int64_t>(array.size())};
}
inline View matrix_of(const GuardedArray<Bf16>& array, int64_t rows, int64_t cols) {
  return {array.data(), DType::kBf16, rows, cols, cols};
}
inline View matrix_of(const GuardedArray<float>& array, int64_t rows, int64_t cols) {
  return {array.data(), DType::kF32, rows, cols, cols};
}

// Inputs of one expert block.
struct ExpertScene {
  SceneShape shape;
  GuardedArray<Bf16> x;
  GuardedArray<Bf16> gate;
  GuardedArray<Bf16> up;
  GuardedArray<Bf16> down;
  GuardedArray<int32_t> ids;
  GuardedArray<float> weights;
  GuardedArray<int32_t> row_map;

  explicit ExpertScene(const SceneShape& s, uint64_t seed = 1)
      : shape(s),
        x(random_bf16(s.tokens * s.hidden, seed, 2)),
        gate(random_bf16(s.experts * s.inner * s.hidden, seed + 1, 0.25F)),
        up(random_bf16(s.experts * s.inner * s.hidden, seed + 2, 0.25F)),
        down(random_bf16(s.experts * s.inner * s.hidden, seed + 3, 0.25F)),
        ids(random_ids(s.tokens * s.slots, s.experts, seed + 4)),
        weights(random_f32(s.tokens * s.slots, seed + 5)),
        row_map(static_cast<size_t>(s.tokens * s.slots)) {
    for (size_t p = 0; p < row_map.size(); ++p) {
      row_map[p] = static_cast<int32_t>(p / static_cast<size_t>(s.slots));
    }
  }

  int64_t pairs() const { return shape.tokens * shape.slots; }
  size_t act_size() const { return static_cast<size_t>(pairs() * shape.inner); }
  size_t down_size() const { return static_cast<size_t>(pairs() * shape.hidden); }
  size_t y_size() const { return static_cast<size_t>(shape.tokens * shape.hidden); }

  ops::ExpertMatrices matrices(const GuardedArray<Bf16>& w, int64_t rows, int64_t cols) const {
    ops::ExpertMatrices result;
    result.base = w.data();
    result.expert_stride = rows * cols;
    result.row_stride = cols;
    result.experts = shape.experts;
    result.rows = rows;
    result.cols = cols;
    return result;
  }
  ops::ExpertMatrices gate_matrices() const { return matrices(gate, shape.inner, shape.hidden); }
  ops::ExpertMatrices up_matrices() const { return matrices(up, shape.inner, shape.hidden); }
  ops::ExpertMatrices down_matrices() const { return matrices(down, shape.hidden, shape.inner); }
  ops::PairMap input_pairs() const { return {view_of(row_map), view_of(ids)}; }
  ops::PairMap own_pairs() const { return {{}, view_of(ids)}; }

  ops::MoeGateUpSilu gate_up(ops::MoeNumerics numerics, const GuardedArray<Bf16>& act) const {
    return {numerics,      matrix_of(x, shape.tokens, shape.hidden), input_pairs(), gate_matrices(),
            up_matrices(), matrix_of(act, pairs(), shape.inner)};
  }
  ops::MoeGroupedGemm down_plain(const GuardedArray<Bf16>& act,
                                 const GuardedArray<Bf16>& rows) const {
    return {matrix_of(act, pairs(), shape.inner), own_pairs(), down_matrices(),
            matrix_of(rows, pairs(), shape.hidden)};
  }
  ops::MoeGroupedGemmWeighted down_weighted(const GuardedArray<Bf16>& act,
                                            const GuardedArray<Bf16>& rows) const {
    return {matrix_of(act, pairs(), shape.inner), own_pairs(), down_matrices(), view_of(weights),
            matrix_of(rows, pairs(), shape.hidden)};
  }
  ops::MoeCombine combine(const GuardedArray<Bf16>& rows, const GuardedArray<Bf16>& y) const {
    return {matrix_of(rows, pairs(), shape.hidden), view_of(ids), view_of(weights), shape.slots,
            matrix_of(y, shape.tokens, shape.hidden)};
  }
  ops::MoeCombinePreweighted combine_preweighted(const GuardedArray<Bf16>& rows,
                                                 const GuardedArray<Bf16>& y) const {
    return {matrix_of(rows, pairs(), shape.hidden), view_of(ids), shape.slots,
            matrix_of(y, shape.tokens, shape.hidden)};
  }
};

}  // namespace moe::contract
