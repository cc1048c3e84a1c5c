// BF16 and FP32 matrices for tests: owned storage, views, and reproducible values. Not part of the
// program.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "ops/moe.hpp"
#include "ops/noise.hpp"
#include "tensor/view.hpp"

namespace moe::ops::test {

// Row-major [rows, cols] with optional padding at the end of each row.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;
  std::vector<Bf16> data;

  Matrix(int64_t row_count, int64_t col_count, int64_t padding = 0)
      : rows(row_count), cols(col_count), stride(col_count + padding) {
    data.resize(static_cast<size_t>(rows * stride));
  }
  Matrix(int64_t row_count, int64_t col_count, std::initializer_list<float> values)
      : Matrix(row_count, col_count) {
    std::transform(values.begin(), values.end(), data.begin(), to_bf16);
  }

  // Values in (-scale, scale), a function of (seed, index) alone.
  static Matrix random(int64_t rows, int64_t cols, uint64_t seed, float scale = 1,
                       int64_t padding = 0) {
    Matrix matrix(rows, cols, padding);
    for (int64_t i = 0; i < rows * cols; ++i) {
      const double unit = 2 * uniform_noise(seed, 0, i) - 1;
      matrix.at(i / cols, i % cols) = to_bf16(static_cast<float>(unit) * scale);
    }
    return matrix;
  }

  Bf16& at(int64_t r, int64_t c) { return data[static_cast<size_t>(r * stride + c)]; }
  float value(int64_t r, int64_t c) const {
    return to_f32(data[static_cast<size_t>(r * stride + c)]);
  }
  View view() { return {data.data(), DType::kBf16, rows, cols, stride}; }
  std::vector<float> values() const {
    std::vector<float> all;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) all.push_back(value(r, c));
    }
    return all;
  }
};

// `experts` matrices [rows, cols] one after another in a Matrix of experts * rows rows.
inline ExpertMatrices expert_matrices(const Matrix& all, int64_t experts) {
  ExpertMatrices w;
  w.base = all.data.data();
  w.experts = experts;
  w.rows = all.rows / experts;
  w.cols = all.cols;
  w.row_stride = all.stride;
  w.expert_stride = w.rows * all.stride;
  return w;
}

template <class T>
Array<T> array(std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}
template <class T>
Array<const T> const_array(const std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

}  // namespace moe::ops::test
