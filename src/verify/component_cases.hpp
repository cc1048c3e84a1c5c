// The list of component cases: cases.json as checked values. Every number is inside its limit, so
// that later arithmetic on shapes cannot overflow. Values only; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "moe/result.hpp"
#include "ops/moe.hpp"

namespace moe::verify {

inline constexpr int64_t kMaxCaseTokens = 1 << 20;
inline constexpr int64_t kMaxCaseWidth = 1 << 16;  // H and I
inline constexpr int64_t kMaxCaseExperts = 4096;
inline constexpr size_t kMaxCasesBytes = size_t{16} << 20;

enum class BufferPart : uint8_t { kAct, kDown, kY };
inline constexpr size_t kBufferParts = 3;

// What FP32 accumulation orders did to a buffer against FP64.
struct OrderSpread {
  double max_abs = 0;
  double changed = 0;
  double of = 0;
};
using ChainSpread = std::array<OrderSpread, kBufferParts>;  // by BufferPart

struct BlockShape {
  int64_t tokens = 0;        // M
  int64_t hidden = 0;        // H
  int64_t intermediate = 0;  // I
  int64_t experts = 0;       // E
  int64_t slots = 0;         // topk
};

struct ExpertCase {
  std::string name;
  std::string file;
  BlockShape shape;
  bool exact = false;
  bool required = true;
  double atol = 0;
  std::vector<int64_t> rows_unchecked;  // tokens
  ChainSpread native;
  ChainSpread legacy;
};

// Inputs come from the counter recipe; the file holds samples of y.
struct LargeCase {
  ExpertCase block;
  uint64_t seed = 0;
  double x_scale = 0;
  double gate_scale = 0;
  double up_scale = 0;
  double down_scale = 0;
};

struct RouterCase {
  std::string name;
  std::string file;
  int64_t tokens = 0;
  bool bf16_logits = false;
  bool has_bias = false;
  int64_t experts = 0;
  int64_t slots = 0;
  ops::RouterTopK parameters;  // scoring, groups, renormalize, scale
};

struct ComponentCases {
  std::vector<ExpertCase> experts;
  std::vector<LargeCase> large;
  std::vector<RouterCase> routers;
};

// Errors: not_found, or corrupt naming case and field.
Result<ComponentCases> read_component_cases(const std::filesystem::path& path);

}  // namespace moe::verify
