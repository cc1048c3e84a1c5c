#include "providers/cpu/moe/expert_gemm.hpp"

#include <algorithm>

#include "base/checked_math.hpp"
#include "ops/validate.hpp"
#include "providers/cpu/gemm/block_gemm.hpp"
#include "providers/cpu/moe/grouping.hpp"

namespace moe::providers::cpu {
namespace {

// A task: the pairs of a block times the weight rows [col, col + cols).
struct ExpertTask {
  const PairBlock* block;
  const int64_t* order;  // the block's pair numbers
  int64_t col;
  int64_t cols;
};

// Hands out the tasks of a plan over `w_rows` weight rows. `work` is that of all of them.
template <class Body>
void for_expert_tasks(CpuDevice& device, const PairPlan& plan, int64_t w_rows, int64_t work,
                      Body&& body) {
  const int64_t col_blocks = ceil_div(w_rows, kColBlock);
  // Blocks innermost: those of one expert are neighbours and share weight rows in a cache.
  device.for_tasks(plan.block_count * col_blocks, work, [&](int64_t task, int64_t) {
    const PairBlock& block = plan.blocks[task % plan.block_count];
    const int64_t col = task / plan.block_count * kColBlock;
    body(ExpertTask{&block, plan.order + block.begin, col, std::min(kColBlock, w_rows - col)});
  });
}

void input_rows(const ConstView& x, const ops::PairMap& pairs, const ExpertTask& task,
                const Bf16** rows) {
  for (int64_t m = 0; m < task.block->count; ++m) {
    const int64_t p = task.order[m];
    rows[m] = x.bf16_row(pairs.row_map.absent() ? p : pairs.row_map[p]);
  }
}

void expert_dots(const KernelTable& kernels, const Bf16* const* x, const ExpertTask& task,
                 const ops::ExpertMatrices& w, DotTile& tile) {
  const Bf16* weights = w.expert(task.block->expert) + task.col * w.row_stride;
  block_dots(kernels, x, task.block->count, weights, w.row_stride, task.cols, w.cols, tile);
}

void zero_rows(const View& y, const ExpertTask& task) {
  for (int64_t m = 0; m < task.block->count; ++m) {
    if (y.dtype == DType::kF32) {
      std::fill_n(y.f32_row(task.order[m]) + task.col, task.cols, 0.0F);
    } else {
      std::fill_n(y.bf16_row(task.order[m]) + task.col, task.cols, Bf16{});
    }
  }
}

void activate_row(ops::MoeNumerics numerics, const KernelTable& kernels, const float* gate,
                  const float* up, Bf16* act, int64_t cols) {
  if (numerics == ops::MoeNumerics::kLegacy) return kernels.silu_mul_f32(gate, up, act, cols);
  Bf16 rounded_gate[kColBlock];
  Bf16 rounded_up[kColBlock];
  kernels.narrow(gate, rounded_gate, cols);
  kernels.narrow(up, rounded_up, cols);
  kernels.silu_mul_bf16(rounded_gate, rounded_up, act, cols);
}

int64_t work_of(int64_t pairs, const ops::ExpertMatrices& w) { return pairs * w.rows * w.cols; }

}  // namespace

Status run_gate_up_silu(const ops::MoeGateUpSilu& op, CpuDevice& device, const KernelTable& kernels,
                        ops::Workspace workspace) {
  TRY(ops::validate(op));
  const PairPlan plan = TRY(plan_pairs(op.pairs.expert_ids, op.gate.experts, workspace));
  const int64_t work = 2 * work_of(op.act.rows, op.gate);
  for_expert_tasks(device, plan, op.gate.rows, work, [&](const ExpertTask& task) {
    if (task.block->expert < 0) return zero_rows(op.act, task);
    const Bf16* x[kRowBlock] = {};
    input_rows(op.x, op.pairs, task, x);
    DotTile gate;
    DotTile up;
    expert_dots(kernels, x, task, op.gate, gate);
    expert_dots(kernels, x, task, op.up, up);
    for (int64_t m = 0; m < task.block->count; ++m) {
      activate_row(op.numerics, kernels, gate.row(m), up.row(m),
                   op.act.bf16_row(task.order[m]) + task.col, task.cols);
    }
  });
  return {};
}

Status run_grouped_gemm(const ops::MoeGroupedGemm& op, CpuDevice& device,
                        const KernelTable& kernels, ops::Workspace workspace) {
  TRY(ops::validate(op));
  const PairPlan plan = TRY(plan_pairs(op.pairs.expert_ids, op.w.experts, workspace));
  const int64_t work = work_of(op.y.rows, op.w);
  for_expert_tasks(device, plan, op.w.rows, work, [&](const ExpertTask& task) {
    if (task.block->expert < 0) return zero_rows(op.y, task);
    const Bf16* x[kRowBlock] = {};
    input_rows(op.x, op.pairs, task, x);
    DotTile tile;
    expert_dots(kernels, x, task, op.w, tile);
    for (int64_t m = 0; m < task.block->count; ++m) {
      if (op.y.dtype == DType::kF32) {
        std::copy_n(tile.row(m), task.cols, op.y.f32_row(task.order[m]) + task.col);
      } else {
        kernels.narrow(tile.row(m), op.y.bf16_row(task.order[m]) + task.col, task.cols);
      }
    }
  });
  return {};
}

Status run_grouped_gemm_weighted(const ops::MoeGroupedGemmWeighted& op, CpuDevice& device,
                                 const KernelTable& kernels, ops::Workspace workspace) {
  TRY(ops::validate(op));
  const PairPlan plan = TRY(plan_pairs(op.pairs.expert_ids, op.w.experts, workspace));
  const int64_t work = work_of(op.y.rows, op.w);
  for_expert_tasks(device, plan, op.w.rows, work, [&](const ExpertTask& task) {
    if (task.block->expert < 0) return zero_rows(op.y, task);
    const Bf16* x[kRowBlock] = {};
    input_rows(op.x, op.pairs, task, x);
    DotTile tile;
    expert_dots(kernels, x, task, op.w, tile);
    for (int64_t m = 0; m < task.block->count; ++m) {
      const int64_t p = task.order[m];
      kernels.narrow_scaled(tile.row(m), op.routing_weights[p], op.y.bf16_row(p) + task.col,
                            task.cols);
    }
  });
  return {};
}

uint64_t workspace_of(const ops::MoeGateUpSilu& op) {
  return pair_plan_bytes(op.act.rows, op.gate.experts);
}
uint64_t workspace_of(const ops::MoeGroupedGemm& op) {
  return pair_plan_bytes(op.y.rows, op.w.experts);
}
uint64_t workspace_of(const ops::MoeGroupedGemmWeighted& op) {
  return pair_plan_bytes(op.y.rows, op.w.experts);
}

}  // namespace moe::providers::cpu
