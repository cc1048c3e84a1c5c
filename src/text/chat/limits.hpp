// Limits of one chat template and of one rendering. Going past one is an error that names the
// limit; nothing is ever cut short.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moe::text::jinja {

inline constexpr size_t kMaxTemplateBytes = size_t{1} << 20;
// Levels of nested statements and of nested expressions in the source.
inline constexpr int kMaxNesting = 100;
// Levels of evaluation at run time: what bounds the machine stack under recursive macros.
inline constexpr int kMaxEvalDepth = 800;
// Levels of lists and objects inside each other.
inline constexpr int kMaxValueDepth = 128;
// Values in one tree of lists and objects, shared parts counted each time: bounds comparing them.
inline constexpr size_t kMaxValueWeight = size_t{1} << 22;
// Bytes of one string, the output included.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxListItems = size_t{1} << 20;
// Items taken from iterables by all loops and filters of one rendering together.
inline constexpr size_t kMaxLoopSteps = 4'000'000;
// Bytes of all values that one rendering makes.
inline constexpr size_t kMaxWorkBytes = size_t{2} << 30;
// Jinja's sandbox has this bound for range().
inline constexpr int64_t kMaxRangeItems = 100'000;
inline constexpr size_t kMaxDateFormatBytes = 256;

struct Limits {
  size_t template_bytes = kMaxTemplateBytes;
  int nesting = kMaxNesting;
  int eval_depth = kMaxEvalDepth;
  int value_depth = kMaxValueDepth;
  size_t value_weight = kMaxValueWeight;
  size_t text_bytes = kMaxTextBytes;
  size_t list_items = kMaxListItems;
  size_t loop_steps = kMaxLoopSteps;
  size_t work_bytes = kMaxWorkBytes;
};

}  // namespace moe::text::jinja
