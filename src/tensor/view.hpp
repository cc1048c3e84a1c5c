// Non-owning views of device memory: matrices with a row stride and plain arrays.
// The shape alphabet of the project: T tokens, P token-expert pairs, H hidden size, I intermediate
// size, E experts, K experts a token (top-k), V vocabulary, D head dimension, S sequences.
// A view does not know its device; an operation reads it on the device that runs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.hpp"

namespace moe {

// [rows, cols] of `dtype`; element (r, c) is at data + (r * row_stride + c) elements.
// data may be null while memory is planned.
struct ConstView {
  const void* data = nullptr;
  DType dtype = DType::kBf16;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;  // elements, >= cols

  bool absent() const { return rows == 0 && cols == 0; }
  const Bf16* bf16_row(int64_t r) const { return static_cast<const Bf16*>(data) + r * row_stride; }
  const float* f32_row(int64_t r) const { return static_cast<const float*>(data) + r * row_stride; }
};

struct View {
  void* data = nullptr;
  DType dtype = DType::kBf16;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;  // elements, >= cols

  operator ConstView() const { return {data, dtype, rows, cols, row_stride}; }  // NOLINT: implicit
  bool absent() const { return rows == 0 && cols == 0; }
  Bf16* bf16_row(int64_t r) const { return static_cast<Bf16*>(data) + r * row_stride; }
  float* f32_row(int64_t r) const { return static_cast<float*>(data) + r * row_stride; }

  // The same memory as `new_rows` x `new_cols`; requires a dense view of as many elements.
  View reshaped(int64_t new_rows, int64_t new_cols) const {
    return {data, dtype, new_rows, new_cols, new_cols};
  }
  // Rows [begin, begin + count).
  View rows_from(int64_t begin, int64_t count) const {
    auto* bytes = static_cast<std::byte*>(data);
    if (bytes != nullptr) bytes += begin * row_stride * size_of(dtype);
    return {bytes, dtype, count, cols, row_stride};
  }
};

// A plain array on the device. Null data with size 0 means "not given".
template <class T>
struct Array {
  T* data = nullptr;
  int64_t size = 0;

  bool absent() const { return data == nullptr && size == 0; }
  T& operator[](int64_t i) const { return data[i]; }
  operator Array<const T>() const { return {data, size}; }  // NOLINT: implicit
};

}  // namespace moe
