// Finds the expert weights of one layer in any layout that published checkpoints use, without
// copying: single matrices of each expert, gate and up of an expert in one matrix, or 3-D stacks of
// all experts. Biases and interleaved gate/up rows are not handled here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"
#include "moe/result.hpp"

namespace moe::io {

inline constexpr int64_t kMaxExperts = 65'536;
inline constexpr int64_t kMaxExpertWidth = int64_t{1} << 24;  // of H and of I

// The names of an expert's matrices, between `experts.<j>.` and `.weight`.
struct ExpertNames {
  std::string_view gate = "gate_proj";
  std::string_view up = "up_proj";
  std::string_view down = "down_proj";
};
inline constexpr ExpertNames kMixtralExpertNames = {"w1", "w3", "w2"};

// How the model's class stores 3-D stacks. Matrices of single experts are always [out, in].
enum class StackLayout {
  kOutIn,  // gate_up [E, 2I, H], down [E, H, I]
  kInOut,  // "transposed": gate_up [E, H, 2I], down [E, I, H]
};

struct ExpertQuery {
  std::string prefix;  // of the MoE block, with its dot: "model.layers.0.mlp."
  int64_t experts = 0;
  int64_t intermediate = 0;  // I
  int64_t hidden = 0;        // H
  StoredType type = StoredType::kBf16;
  ExpertNames names;
  StackLayout stack_layout = StackLayout::kOutIn;
};

// Rows of one expert's matrix: element (r, c) is at element r * row_stride + c of `data`.
struct ExpertMatrix {
  const std::byte* data = nullptr;
  int64_t row_stride = 0;
};

struct ExpertWeights {
  // kOutIn: gate and up are [I, H], down is [H, I]. kInOut: gate and up are [H, I], down [I, H].
  StackLayout layout = StackLayout::kOutIn;
  std::vector<ExpertMatrix> gate;  // [E]
  std::vector<ExpertMatrix> up;    // [E]
  std::vector<ExpertMatrix> down;  // [E]
};

// Accepted under the prefix, each with or without ".weight":
//   experts.<j>.{gate,up,down}   2-D [I, H], [I, H], [H, I], by `names`
//   experts.<j>.gate_up_proj or .w13   2-D [2I, H], gate rows first, in place of gate and up
//   experts.gate_up_proj + experts.down_proj   3-D by `stack_layout`, gate half first
//   input_linear + output_linear   3-D, the same under older names
// A stack in the other layout is unsupported, unless its shape is the declared one too (2I = H).
// Errors: not_found (nothing there, or an expert is missing), corrupt (shape, two layouts at once,
// more experts than asked for), unsupported (type, layout).
Result<ExpertWeights> find_expert_weights(const Checkpoint& checkpoint, const ExpertQuery& query);

}  // namespace moe::io
