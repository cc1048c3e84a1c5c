#include "providers/cpu/elementwise/elementwise.hpp"

#include <cstring>

#include "base/check.hpp"
#include "ops/exp.hpp"
#include "ops/validate.hpp"

namespace moe::providers::cpu {
namespace {

// An FP32 exponential and a division, in multiply-adds.
constexpr int64_t kSiluWork = 8;

void rope_interleaved(const ops::Rope& op, int64_t t) {
  const int64_t half = op.rotary_dim / 2;
  const Bf16* cosines = op.cos_sin.bf16_row(op.positions[t]);
  for (int64_t begin = 0; begin < op.x.cols; begin += op.head_dim) {
    Bf16* head = op.x.bf16_row(t) + begin;
    for (int64_t i = 0; i < half; ++i) {
      const float x1 = to_f32(head[2 * i]);
      const float x2 = to_f32(head[2 * i + 1]);
      const float c = to_f32(cosines[i]);
      const float s = to_f32(cosines[i + half]);
      head[2 * i] = to_bf16(x1 * c - x2 * s);
      head[2 * i + 1] = to_bf16(x2 * c + x1 * s);
    }
  }
}

// The part of `op` that is row r.
ops::SampleTokens sample_row(const ops::SampleTokens& op, int64_t r) {
  ops::SampleTokens row = op;
  const int64_t begin = r * op.logits.row_stride * size_of(op.logits.dtype);
  row.logits.data = static_cast<const std::byte*>(op.logits.data) + begin;
  row.logits.rows = 1;
  row.rows = {op.rows.data + r, 1};
  row.tokens = {op.tokens.data + r, 1};
  if (op.top_logprobs == 0) return row;
  const int64_t entries = op.top_logprobs + 1;
  row.logprob_tokens = {op.logprob_tokens.data + r * entries, entries};
  row.logprobs = {op.logprobs.data + r * entries, entries};
  row.ranks = {op.ranks.data + r, 1};
  return row;
}

}  // namespace

Status run_gather_rows(const ops::GatherRows& op, CpuDevice& device) {
  TRY(ops::validate(op));
  const int64_t bytes = op.out.cols * size_of(DType::kBf16);
  device.for_items(op.ids.size, bytes, [&](int64_t t) {
    std::memcpy(op.out.bf16_row(t), op.table.bf16_row(op.ids[t]), static_cast<size_t>(bytes));
  });
  return {};
}

Status run_rms_norm(const ops::RmsNorm& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  const bool add = !op.residual.absent();
  device.for_items(op.x.rows, op.x.cols, [&](int64_t r) {
    kernels.rms_norm_row({.x = op.x.bf16_row(r),
                          .residual = add ? op.residual.bf16_row(r) : nullptr,
                          .weight = op.weight.bf16_row(0),
                          .epsilon = op.epsilon,
                          .cols = op.x.cols,
                          .out = op.out.bf16_row(r)});
  });
  return {};
}

Status run_rope(const ops::Rope& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  const int64_t half = op.rotary_dim / 2;
  device.for_items(op.x.rows, op.x.cols, [&](int64_t t) {
    if (op.interleaved) return rope_interleaved(op, t);
    const Bf16* cosines = op.cos_sin.bf16_row(op.positions[t]);
    kernels.rope_row({.x = op.x.bf16_row(t),
                      .heads = op.x.cols / op.head_dim,
                      .head_dim = op.head_dim,
                      .half = half,
                      .cos = cosines,
                      .sin = cosines + half});
  });
  return {};
}

Status run_silu_mul(const ops::SiluMul& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  device.for_items(op.out.rows, op.out.cols * kSiluWork, [&](int64_t r) {
    if (op.gate.dtype == DType::kF32) {
      kernels.silu_mul_f32(op.gate.f32_row(r), op.up.f32_row(r), op.out.bf16_row(r), op.out.cols);
    } else {
      kernels.silu_mul_bf16(op.gate.bf16_row(r), op.up.bf16_row(r), op.out.bf16_row(r),
                            op.out.cols);
    }
  });
  return {};
}

Status run_scale_add(const ops::ScaleAdd& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  device.for_items(op.out.rows, op.out.cols, [&](int64_t r) {
    kernels.scale_add_row(
        {.x = op.x.bf16_row(r),
         .scale = op.gate.absent() ? op.scale
                                   : round_bf16(ops::sigmoid_f32(to_f32(op.gate.bf16_row(r)[0]))),
         .addend = op.addend.absent() ? nullptr : op.addend.bf16_row(r),
         .cols = op.out.cols,
         .out = op.out.bf16_row(r)});
  });
  return {};
}

Status run_sample_tokens(const ops::SampleTokens& op, CpuDevice& device) {
  TRY(ops::validate(op));
  device.for_items(op.logits.rows, op.logits.cols * kSiluWork, [&](int64_t r) {
    // Validated above as a whole, so a row cannot fail.
    CHECK(ops::sample_tokens_ref(sample_row(op, r)).ok());
  });
  return {};
}

}  // namespace moe::providers::cpu
