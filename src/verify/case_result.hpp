// The outcome of one verification case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace moe::verify {

enum class Outcome : uint8_t { kPass, kFail, kSkip };

struct CaseResult {
  std::string name;  // "models/qwen3_moe_fixture native"
  Outcome outcome = Outcome::kFail;
  std::string measured;  // deviation found
  std::string allowed;   // deviation allowed
  std::string detail;    // why it failed or was skipped
  double seconds = 0;
};

using CaseSink = std::function<void(CaseResult)>;

}  // namespace moe::verify
