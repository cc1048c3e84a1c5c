// Host arrays to device buffers, operations through the op table, results back. Everything goes
// through Device, so that devices with memory of their own work alike. One thread.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "moe/result.hpp"
#include "verify/case_result.hpp"

namespace moe::verify {

class DeviceRunner {
 public:
  explicit DeviceRunner(VerifyDevice target) : target_(target) {}

  // Never empty, so that a view of no elements still has an address.
  Result<Buffer> allocate(uint64_t bytes) {
    return target_.device.allocate(bytes > 0 ? bytes : kSmallestBytes);
  }

  template <class T>
  Result<Buffer> upload(std::span<const T> values) {
    Buffer buffer = TRY(allocate(values.size_bytes()));
    if (!values.empty()) {
      TRY(target_.device.copy_to_device(buffer.data(), values.data(), values.size_bytes()));
    }
    return buffer;
  }

  // A buffer of bytes 0xff (NaN in every float type), so that an element nobody wrote shows.
  Result<Buffer> output(uint64_t bytes) {
    return upload(std::span<const std::byte>(std::vector<std::byte>(bytes, std::byte{0xff})));
  }

  template <class T>
  Result<std::vector<T>> download(const Buffer& buffer, uint64_t count) {
    std::vector<T> values(count);
    if (count > 0) {
      TRY(target_.device.copy_to_host(values.data(), buffer.data(), count * sizeof(T)));
    }
    return values;
  }

  Status copy_in(std::byte* device_data, const void* host_data, uint64_t bytes) {
    return target_.device.copy_to_device(device_data, host_data, bytes);
  }

  template <class Desc>
  Status run(const Desc& desc) {
    const ops::Variant<Desc>* variant = TRY(target_.table.select(desc));
    const uint64_t bytes = variant->workspace_bytes(desc, target_.table.facts());
    Buffer scratch = TRY(allocate(bytes));
    return variant->run(desc, target_.device, {scratch.data(), bytes});
  }

 private:
  static constexpr uint64_t kSmallestBytes = 64;
  VerifyDevice target_;
};

template <class T>
Array<const T> device_array(const Buffer& buffer, int64_t count) {
  return {static_cast<const T*>(buffer.data()), count};
}

inline View device_matrix(const Buffer& buffer, int64_t rows, int64_t cols) {
  return {buffer.data(), DType::kBf16, rows, cols, cols};
}

}  // namespace moe::verify
