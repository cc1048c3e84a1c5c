// How a provider offers an operation: one ordered list of variants per op, best first. Each
// accepts a description or refuses it with a reason from the catalogue below.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "moe/result.hpp"
#include "tensor/device.hpp"

namespace moe::ops {

// Why a variant does not take a call (kNone: it does).
enum class Refusal : uint8_t {
  kNone,
  kInstructionSet,  // the processor lacks the instructions
  kArchitecture,    // built for another chip
  kNumericsMode,    // the other rounding chain was asked for
  kDtype,
  kShape,
  kAlignment,
  kDisabled,  // switched off by the user
};
constexpr int kRefusalCount = static_cast<int>(Refusal::kDisabled) + 1;
std::string_view name_of(Refusal refusal);

// Variants of one class give equal bits for equal input; a device uses one class for a model.
enum class NumericClass : uint8_t {
  kReference,   // the scalar reference; its dots have the order of kLanes16
  kLanes16,     // 16 FP32 lanes over K, pairs odd element first (see docs/numerics.md): the bits of
                // the reference outside subnormal products
  kElementwise  // no long sum: every provider must give the reference's bits
};

// Scratch memory on the device, at least as large as the variant's `workspace_bytes`.
struct Workspace {
  void* data = nullptr;
  uint64_t bytes = 0;
};

// One way to run the op described by Desc. A plain value: function pointers and facts.
template <class Desc>
struct Variant {
  std::string_view name;  // "<provider>:<chip>_<method>"
  NumericClass numeric_class;
  // Looked at once per device: can this variant ever run here?
  Refusal (*available)(const DeviceFacts&);
  // Looked at per call; must not read through pointers.
  Refusal (*accepts)(const Desc&);
  uint64_t (*workspace_bytes)(const Desc&, const DeviceFacts&);
  Status (*run)(const Desc&, Device&, Workspace);
};

inline Refusal always_available(const DeviceFacts&) { return Refusal::kNone; }
template <class Desc>
Refusal accepts_all(const Desc&) {
  return Refusal::kNone;
}
template <class Desc>
uint64_t no_workspace(const Desc&, const DeviceFacts&) {
  return 0;
}

}  // namespace moe::ops
