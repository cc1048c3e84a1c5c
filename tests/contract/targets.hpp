// The devices that contract tests run on: the scalar references as a device of their own, and every
// CPU instruction set that this machine has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/op_table.hpp"
#include "tensor/device.hpp"
#include "verify/case_result.hpp"

namespace moe::contract {

struct Target {
  std::unique_ptr<Device> device;
  std::unique_ptr<ops::OpTable> table;

  verify::VerifyDevice verify() const { return {*device, *table}; }
  // Runs an op on the first variant that accepts it.
  template <class Desc>
  Status run(const Desc& desc) const {
    const ops::Variant<Desc>* variant = TRY(table->select(desc));
    const uint64_t bytes = variant->workspace_bytes(desc, table->facts());
    Buffer scratch = TRY(device->allocate(bytes > 0 ? bytes : 1));
    return variant->run(desc, *device, {scratch.data(), bytes});
  }
};

// Host memory behind guard pages; a write outside a buffer ends the process when it is freed.
std::unique_ptr<Device> make_guarded_host_device();

// "ref", "cpu_portable", "cpu_avx2" and so on.
std::vector<std::string> target_names();
Target open_target(const std::string& name);

// The table of the references, without the ops named in `disabled`.
std::unique_ptr<ops::OpTable> make_reference_table(const std::vector<std::string>& disabled = {});

}  // namespace moe::contract
