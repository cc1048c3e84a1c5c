// Memory for contract tests: an access past its end crashes, a write before its begin is found.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"

namespace moe::contract {

// `bytes` bytes whose end lies less than kAlignment before an inaccessible page. The begin is
// 64-byte aligned, as device memory is; what lies between is filled and checked.
class GuardedBytes {
 public:
  static constexpr size_t kAlignment = 64;

  explicit GuardedBytes(size_t bytes) : bytes_(bytes) {
    const size_t usable = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const size_t front = (usable + kPage - 1) / kPage * kPage + kPage;  // at least one free line
    mapped_ = front + kPage;
    void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
    CHECK_EQ(mprotect(base_ + front, kPage, PROT_NONE), 0);
    std::memset(base_, kFill, front);
    data_ = base_ + front - usable;
    front_ = front;
  }
  ~GuardedBytes() { munmap(base_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Nothing around the bytes was written.
  bool intact() const {
    const auto filled = [](std::span<const std::byte> range) {
      for (const std::byte byte : range) {
        if (byte != std::byte{kFill}) return false;
      }
      return true;
    };
    const auto before = static_cast<size_t>(data_ - base_);
    return filled({base_, before}) && filled({data_ + bytes_, front_ - before - bytes_});
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr unsigned char kFill = 0xc7;
  size_t bytes_;
  size_t mapped_ = 0;
  size_t front_ = 0;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

// `count` elements in guarded memory, all bytes 0xff: NaN in every float type, -1 in integers.
template <class T>
class GuardedArray {
 public:
  explicit GuardedArray(size_t count) : memory_(count * sizeof(T)), count_(count) {
    if (count > 0) std::memset(memory_.data(), 0xff, count * sizeof(T));
  }
  explicit GuardedArray(const std::vector<T>& values) : GuardedArray(values.size()) {
    if (count_ > 0) std::memcpy(memory_.data(), values.data(), count_ * sizeof(T));
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t i) const { return data()[i]; }
  size_t size() const { return count_; }
  std::vector<T> values() const { return {data(), data() + count_}; }
  bool intact() const { return memory_.intact(); }

 private:
  GuardedBytes memory_;
  size_t count_;
};

}  // namespace moe::contract
