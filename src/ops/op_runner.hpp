// Runs operations on one opened device: picks the variant, hands it scratch memory, counts.
//
// In planning mode nothing runs: the runner only records how much scratch the operations would
// want, so that one pass over a model's forward function sizes its memory.
// One thread at a time.
#pragma once

#include <algorithm>

#include "ops/op_table.hpp"
#include "tensor/device.hpp"

namespace moe::ops {

class OpRunner {
 public:
  OpRunner(Device& device, OpTable& table) : device_(device), table_(table) {}

  Device& device() { return device_; }
  OpTable& table() { return table_; }
  bool planning() const { return planning_; }
  uint64_t scratch_bytes() const { return scratch_.bytes(); }

  void begin_planning() { planning_ = true; }
  // Allocates the scratch that the planned operations want. Errors: out_of_memory.
  Status finish_planning() {
    planning_ = false;
    return reserve(planned_bytes_);
  }

  // Errors: unsupported when no variant takes it, and whatever the variant reports.
  template <class Desc>
  Status run(const Desc& desc) {
    if (planning_) {
      planned_bytes_ = std::max(planned_bytes_, TRY(table_.workspace_bytes(desc)));
      return {};
    }
    const Variant<Desc>* variant = TRY(table_.select(desc));
    TRY(reserve(variant->workspace_bytes(desc, device_.facts())));
    return variant->run(desc, device_, {scratch_.data(), scratch_.bytes()});
  }

 private:
  // Grows only when an op was not planned; a planned forward pass never gets here twice.
  Status reserve(uint64_t bytes) {
    if (bytes <= scratch_.bytes()) return {};
    scratch_ = {};
    scratch_ = TRY(device_.allocate(bytes));
    return {};
  }

  Device& device_;
  OpTable& table_;
  bool planning_ = false;
  uint64_t planned_bytes_ = 0;
  Buffer scratch_;
};

}  // namespace moe::ops
