// For tests: every instruction set of this machine opened with several thread counts, and the
// comparison of what they compute with what the references compute. Not part of the program.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ops/test_matrix.hpp"
#include "providers/cpu/arch/isa.hpp"
#include "providers/cpu/cpu_provider.hpp"

namespace moe::providers::cpu::test {

using ops::test::array;
using ops::test::const_array;
using ops::test::expert_matrices;
using ops::test::Matrix;

struct TestDevice {
  std::string name;
  OpenedDevice opened;
};

inline OpenedDevice open_or_fail(const OpenOptions& options) {
  Result<OpenedDevice> opened = open_cpu(options);
  if (!opened.ok()) ADD_FAILURE() << opened.error().to_string();
  return std::move(opened).value();
}

inline OpenedDevice& reference_device() {
  static OpenedDevice device = open_or_fail({1, "ref", {}});
  return device;
}

// All sets that the machine has, each with 1, 2 and 4 threads.
inline std::vector<TestDevice>& kernel_devices() {
  static std::vector<TestDevice> devices = [] {
    std::vector<TestDevice> all;
    for (const char* isa : {"portable", "avx2", "avx512", "avx512_bf16"}) {
      if (!runs_here(*isa_named(isa))) continue;
      for (int threads : {1, 2, 4}) {
        all.push_back({std::string(isa) + " threads=" + std::to_string(threads),
                       open_or_fail({threads, isa, {}})});
      }
    }
    return all;
  }();
  return devices;
}

// Runs `desc` on the first variant with exactly the workspace it asks for, between guard bytes.
template <class Desc>
Status run_on(OpenedDevice& opened, const Desc& desc) {
  constexpr size_t kGuard = 64;
  constexpr unsigned char kGuardByte = 0xa5;
  const auto* variant = TRY(opened.table->select(desc));
  const uint64_t bytes = variant->workspace_bytes(desc, opened.device->facts());
  const Buffer buffer = TRY(opened.device->allocate(bytes + kGuard));
  auto* data = static_cast<unsigned char*>(buffer.data());
  std::memset(data, kGuardByte, bytes + kGuard);
  TRY(variant->run(desc, *opened.device, {data, bytes}));
  for (size_t i = 0; i < kGuard; ++i) EXPECT_EQ(data[bytes + i], kGuardByte) << "past workspace";
  return {};
}

// Every NaN as the same one: which NaN an addition of two gives is not defined by the contract.
inline uint32_t comparable(float value) {
  return std::isnan(value) ? 0x7fc00000U : std::bit_cast<uint32_t>(value);
}

// Bits of all elements, padding of the rows included, so that a write beside a row shows.
inline std::vector<uint32_t> bits_of(const Matrix& matrix) {
  std::vector<uint32_t> bits;
  for (Bf16 value : matrix.data) bits.push_back(comparable(to_f32(value)));
  return bits;
}
inline std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(comparable(value));
  return bits;
}

// `evaluate(OpenedDevice&)` runs an op and returns the bits of its outputs.
template <class Evaluate>
void expect_reference_bits(Evaluate evaluate) {
  const std::vector<uint32_t> wanted = evaluate(reference_device());
  for (TestDevice& device : kernel_devices()) {
    const std::vector<uint32_t> got = evaluate(device.opened);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], wanted[i]) << device.name << ", output " << i << " of " << got.size();
    }
  }
}

// As above for an op whose one output is a BF16 matrix; `make(View)` gives the description.
template <class Make>
void expect_reference_bits(int64_t rows, int64_t cols, Make make) {
  expect_reference_bits([&](OpenedDevice& device) {
    Matrix out = Matrix::random(rows, cols, 99, 1, 3);
    const Status status = run_on(device, make(out.view()));
    EXPECT_TRUE(status.ok()) << status.error().to_string();
    return bits_of(out);
  });
}

// Replaces some values by NaN and infinities.
inline void add_non_finite(Matrix& matrix, uint64_t seed) {
  const float values[] = {std::nanf(""), INFINITY, -INFINITY};
  for (size_t i = 0; i < matrix.data.size(); ++i) {
    const double roll = ops::uniform_noise(seed, 1, static_cast<int64_t>(i));
    if (roll < 0.03) matrix.data[i] = to_bf16(values[static_cast<size_t>(roll * 100) % 3]);
  }
}

}  // namespace moe::providers::cpu::test
