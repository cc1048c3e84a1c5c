// Device memory for the intermediate results of a forward pass: a bump allocator over one buffer.
//
// Used twice: first in planning mode, where views have null data and only the peak is recorded,
// then over a buffer of exactly that size. A scope gives back what was taken inside it, so that
// the layers of a model share their memory. Not thread-safe.
#pragma once

#include <algorithm>

#include "base/check.hpp"
#include "base/checked_math.hpp"
#include "tensor/device.hpp"
#include "tensor/view.hpp"

namespace moe {

class Arena {
 public:
  static constexpr uint64_t kAlignment = 64;

  bool planning() const { return buffer_.data() == nullptr; }
  uint64_t peak_bytes() const { return peak_; }

  // Ends planning: takes a buffer of at least peak_bytes().
  void back_with(Buffer buffer) {
    CHECK_GE(buffer.bytes(), peak_);
    buffer_ = std::move(buffer);
    used_ = 0;
  }

  View matrix(DType dtype, int64_t rows, int64_t cols) {
    return {take(static_cast<uint64_t>(rows * cols * size_of(dtype))), dtype, rows, cols, cols};
  }
  template <class T>
  Array<T> array(int64_t size) {
    return {static_cast<T*>(take(static_cast<uint64_t>(size) * sizeof(T))), size};
  }

  // Gives back at its end what was taken during its life.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), used_(arena.used_) {}
    ~Scope() { arena_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    uint64_t used_;
  };

 private:
  void* take(uint64_t bytes) {
    const uint64_t begin = used_;
    used_ += round_up(bytes, kAlignment);
    peak_ = std::max(peak_, used_);
    if (planning()) return nullptr;
    CHECK_LE(used_, buffer_.bytes());
    return static_cast<std::byte*>(buffer_.data()) + begin;
  }

  Buffer buffer_;
  uint64_t used_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace moe
