#include "providers/cpu/moe/routing.hpp"

#include "base/check.hpp"
#include "ops/validate.hpp"

namespace moe::providers::cpu {
namespace {

// One FP64 exponential of the router, in multiply-adds.
constexpr int64_t kExponentialWork = 64;

}  // namespace

Status run_router_top_k(const ops::RouterTopK& op, CpuDevice& device) {
  TRY(ops::validate(op));
  device.for_items(op.logits.rows, op.logits.cols * kExponentialWork, [&](int64_t t) {
    ops::RouterTopK row = op;
    const int64_t begin = t * op.logits.row_stride * size_of(op.logits.dtype);
    row.logits.data = static_cast<const std::byte*>(op.logits.data) + begin;
    row.logits.rows = 1;
    row.ids = {op.ids.data + t * op.slots, op.slots};
    row.weights = {op.weights.data + t * op.slots, op.slots};
    CHECK(ops::router_top_k_ref(row).ok());  // validated above
  });
  return {};
}

Status run_combine(const ops::MoeCombine& op, CpuDevice& device, const KernelTable& kernels) {
  TRY(ops::validate(op));
  device.for_items(op.y.rows, op.slots * op.y.cols, [&](int64_t t) {
    kernels.combine_row({.rows = op.rows.bf16_row(t * op.slots),
                         .row_stride = op.rows.row_stride,
                         .expert_ids = op.expert_ids.data + t * op.slots,
                         .weights = op.routing_weights.data + t * op.slots,
                         .slots = op.slots,
                         .cols = op.y.cols,
                         .out = op.y.bf16_row(t)});
  });
  return {};
}

Status run_combine_preweighted(const ops::MoeCombinePreweighted& op, CpuDevice& device,
                               const KernelTable& kernels) {
  TRY(ops::validate(op));
  device.for_items(op.y.rows, op.slots * op.y.cols, [&](int64_t t) {
    kernels.combine_row({.rows = op.rows.bf16_row(t * op.slots),
                         .row_stride = op.rows.row_stride,
                         .expert_ids = op.expert_ids.data + t * op.slots,
                         .weights = nullptr,
                         .slots = op.slots,
                         .cols = op.y.cols,
                         .out = op.y.bf16_row(t)});
  });
  return {};
}

}  // namespace moe::providers::cpu
