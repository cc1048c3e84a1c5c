// A device: memory and facts. Providers implement it (src/providers/<device>/); nothing above
// src/providers names a concrete one.
//
// Threads: one thread drives a device at a time. Work is ordered: a copy sees the operations that
// were issued before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "moe/result.hpp"

namespace moe {

enum class DeviceType : uint8_t { kCpu, kCuda, kRocm };

struct DeviceFacts {
  DeviceType type = DeviceType::kCpu;
  std::string name;          // as the user selects it: "cpu", "cuda", "rocm", "rocm-sim"
  std::string architecture;  // "x86-64 avx512_bf16", "sm_90", "gfx1100"
  std::string description;   // marketing name of the part
  int threads = 1;           // CPU worker threads, 1 elsewhere
  uint64_t memory_bytes = 0;
};

class Device;

// Device memory, freed on destruction. Move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device* device, void* data, uint64_t bytes)
      : device_(device), data_(data), bytes_(bytes) {}
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Device* device_ = nullptr;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;
  // 64-byte aligned at least; contents undefined. Errors: out_of_memory with the wanted bytes.
  virtual Result<Buffer> allocate(uint64_t bytes) = 0;
  virtual Status copy_to_device(void* device_data, const void* host_data, uint64_t bytes) = 0;
  virtual Status copy_to_host(void* host_data, const void* device_data, uint64_t bytes) = 0;
  // True when the device reads host memory in place, so that mapped weights need no copy.
  virtual bool reads_host_memory() const = 0;
  // Bytes allocated now and the most ever allocated, in buffers of this device.
  virtual uint64_t allocated_bytes() const = 0;
  virtual uint64_t peak_allocated_bytes() const = 0;

 protected:
  friend class Buffer;
  virtual void free(void* data, uint64_t bytes) = 0;
};

inline Buffer::~Buffer() {
  if (device_ != nullptr && data_ != nullptr) device_->free(data_, bytes_);
}

}  // namespace moe
