// Whether a description keeps its contract: shapes that fit together, parameters in range, every
// index inside its table. Reads the index arrays, so they must be in host memory; never reads or
// writes an element of a matrix. Every reference calls it first, so an error leaves all outputs
// untouched; CPU providers may do the same. Any thread.
// Errors: invalid_argument naming op, operand and position, got and wanted.
#pragma once

#include "moe/result.hpp"
#include "ops/attention.hpp"
#include "ops/dense.hpp"
#include "ops/moe.hpp"
#include "ops/sampling.hpp"

namespace moe::ops {

Status validate(const GatherRows& op);
Status validate(const RmsNorm& op);
Status validate(const Rope& op);
Status validate(const Linear& op);
Status validate(const LinearF32& op);
Status validate(const SiluMul& op);
Status validate(const ScaleAdd& op);
Status validate(const KvCacheStore& op);
Status validate(const AttentionPaged& op);
Status validate(const MoeGateUpSilu& op);
Status validate(const MoeGroupedGemm& op);
Status validate(const MoeGroupedGemmWeighted& op);
Status validate(const MoeCombine& op);
Status validate(const MoeCombinePreweighted& op);
Status validate(const RouterTopK& op);
// Without the logits: a row in which no token is left to draw shows only while sampling.
Status validate(const SampleTokens& op);

}  // namespace moe::ops
