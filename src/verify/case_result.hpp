// What one verification case gave, and the device that cases run on. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ops/op_table.hpp"
#include "tensor/device.hpp"

namespace moe::verify {

enum class Outcome : uint8_t { kPass, kFail, kSkip };

struct CaseResult {
  std::string name;  // "models/qwen3_moe_fixture native"
  Outcome outcome = Outcome::kFail;
  std::string measured;  // the deviation found
  std::string allowed;   // the deviation accepted
  std::string detail;    // why it failed or was skipped
  double seconds = 0;
};

using CaseSink = std::function<void(CaseResult)>;

struct VerifyDevice {
  Device& device;
  ops::OpTable& table;
};

}  // namespace moe::verify
