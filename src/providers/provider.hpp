// The list of device kinds of this build, and how one is opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "moe/result.hpp"
#include "ops/op_table.hpp"
#include "tensor/device.hpp"

namespace moe::providers {

struct OpenOptions {
  int threads = 0;      // CPU: 0 = all allowed cores
  std::string cpu_isa;  // CPU: "" = best, or "portable", "avx2", "avx512", "avx512_bf16"
  std::vector<std::string> disabled;  // op names, variant names or "kOp=variant": not registered
};

// An opened device with its op surface.
struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<ops::OpTable> table;
};

// What the machine has, opened or not.
struct DeviceReport {
  std::string name;
  bool usable = false;
  std::string detail;  // architecture and description, or why it cannot be used and the fix
};

// `name` is "cpu", ... or "auto" (the best usable device). Errors: not_found or unsupported with
// the names that this build knows.
Result<OpenedDevice> open_device(const std::string& name, const OpenOptions& options);
std::vector<DeviceReport> list_devices();

}  // namespace moe::providers
