// The operations: an id names what is computed, never how.
#pragma once

#include <cstdint>
#include <string_view>

namespace moe::ops {

enum class OpId : uint8_t {
  kGatherRows,                    // embedding lookup and row selection
  kRmsNorm,                       // optionally with the residual add in front
  kRope,                          // rotary position embedding, in place
  kKvCacheStore,                  // keys and values into the paged cache
  kAttentionPaged,                // causal attention over the paged cache
  kLinearBf16,                    // dense y = x W^T
  kLinearF32,                     // dense y = x W^T with FP32 weights
  kSiluMul,                       // silu(gate) * up
  kScaleAdd,                      // multiply by a factor, then add
  kRouterTopK,                    // expert choice and routing weights
  kMoeGroupedGemmBf16GateUpSilu,  // act = silu(x Wg^T) * (x Wu^T) per chosen expert
  kMoeGroupedGemmBf16,            // y = x W^T per chosen expert
  kMoeGroupedGemmBf16Weighted,    // y = (x W^T) * routing weight, one rounding
  kMoeCombine,                    // y = sum of routing weight * row
  kMoeCombinePreweighted,         // y = sum of rows
  kSampleTokens,                  // next token ids from logits
};
constexpr int kOpCount = static_cast<int>(OpId::kSampleTokens) + 1;

// "kMoeCombine" and so on.
std::string_view name_of(OpId id);

}  // namespace moe::ops
