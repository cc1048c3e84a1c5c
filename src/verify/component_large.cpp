// The large cases: inputs from the counter recipe, samples of y in the file. Computes the tokens
// that the samples need, or all of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.hpp"
#include "verify/component_block.hpp"
#include "verify/component_compare.hpp"
#include "verify/component_counter.hpp"
#include "verify/component_runs.hpp"
#include "verify/component_tensors.hpp"

namespace moe::verify {
namespace {

constexpr int64_t kMaxLargeElements = int64_t{1} << 32;  // of one projection, or one pair buffer
constexpr int64_t kCheckedElements = 16;                 // at each end of a tensor
constexpr int64_t kMaxSamples = 1 << 24;

Error too_large(const LargeCase& test, std::string_view what, int64_t elements) {
  return unsupported(fmt::format("case {}: {} has {} elements, at most {} are supported",
                                 test.block.name, what, elements, kMaxLargeElements),
                     "use smaller shapes");
}

Error recipe_differs(const LargeCase& test, const std::string& what) {
  return corrupt(
      fmt::format("case {}: the recipe gives other {} than the file", test.block.name, what),
      "seed, scales and shape in cases.json must be those of the file");
}

struct TensorRecipe {
  const char* name;
  CounterTag tag;
  double scale;
  int64_t elements;
};

std::vector<TensorRecipe> recipes_of(const LargeCase& test) {
  const BlockShape& s = test.block.shape;
  const int64_t weights = s.experts * s.intermediate * s.hidden;
  return {{"x", CounterTag::kX, test.x_scale, s.tokens * s.hidden},
          {"w_gate", CounterTag::kGate, test.gate_scale, weights},
          {"w_up", CounterTag::kUp, test.up_scale, weights},
          {"w_down", CounterTag::kDown, test.down_scale, weights}};
}

// The first and last elements of each tensor, and the routing of some tokens, bit for bit.
Status check_recipe(const LargeCase& test, const ComponentFile& file) {
  const BlockShape& s = test.block.shape;
  for (const TensorRecipe& recipe : recipes_of(test)) {
    const int64_t count = std::min(kCheckedElements, recipe.elements);
    std::vector<Bf16> values(static_cast<size_t>(count));
    for (const bool last : {false, true}) {
      const auto first = static_cast<uint64_t>(last ? recipe.elements - count : 0);
      counter_values(test.seed, recipe.tag, first, recipe.scale, values);
      const std::string name = fmt::format("check.{}_{}", recipe.name, last ? "last" : "first");
      if (!std::ranges::equal(TRY(file.bf16(name, {count})), values)) {
        return recipe_differs(test, name);
      }
    }
  }
  const int64_t count = TRY(file.length("check.tokens"));
  const auto tokens = TRY(file.i64("check.tokens", {count}));
  const auto ids = TRY(file.i32("check.topk_ids", {count, s.slots}));
  const auto weights = TRY(file.f32("check.topk_weights", {count, s.slots}));
  const auto slots = static_cast<size_t>(s.slots);
  std::vector<int32_t> own_ids(slots);
  std::vector<float> own_weights(slots);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= s.tokens) return recipe_differs(test, "check.tokens");
    counter_expert_ids(test.seed, tokens[i], s.experts, own_ids);
    counter_weights(test.seed, tokens[i], own_weights);
    if (!std::ranges::equal(ids.subspan(i * slots, slots), own_ids) ||
        !std::ranges::equal(weights.subspan(i * slots, slots), own_weights)) {
      return recipe_differs(test, fmt::format("routing of token {}", tokens[i]));
    }
  }
  return {};
}

// The tokens to compute, each with its row.
Result<std::map<int64_t, int64_t>> rows_of(const LargeCase& test, std::span<const int64_t> index,
                                           bool full) {
  const BlockShape& s = test.block.shape;
  std::map<int64_t, int64_t> rows;
  for (const int64_t position : index) {
    if (position < 0 || position >= s.tokens * s.hidden) {
      return corrupt(fmt::format("case {}: sample position {} lies outside y of {} elements",
                                 test.block.name, position, s.tokens * s.hidden),
                     "copy the oracle folder again");
    }
    rows.emplace(position / s.hidden, 0);
  }
  for (int64_t token = 0; full && token < s.tokens; ++token) rows.emplace(token, 0);
  int64_t row = 0;
  for (auto& entry : rows) entry.second = row++;
  return rows;
}

Status fill_experts(const LargeCase& test, const std::vector<int32_t>& ids, ExpertBlock& block) {
  const BlockShape& s = test.block.shape;
  const auto size = static_cast<size_t>(s.intermediate * s.hidden);
  std::vector<char> used(static_cast<size_t>(s.experts), 0);
  for (const int32_t id : ids) used[static_cast<size_t>(id)] = 1;
  std::vector<Bf16> gate(size);
  std::vector<Bf16> up(size);
  std::vector<Bf16> down(size);
  for (int64_t e = 0; e < s.experts; ++e) {
    if (used[static_cast<size_t>(e)] == 0) continue;
    const uint64_t first = static_cast<uint64_t>(e) * size;
    counter_values(test.seed, CounterTag::kGate, first, test.gate_scale, gate);
    counter_values(test.seed, CounterTag::kUp, first, test.up_scale, up);
    counter_values(test.seed, CounterTag::kDown, first, test.down_scale, down);
    TRY(block.fill_expert(e, gate, up, down));
  }
  return {};
}

// y of the tokens of `rows`, row by row.
Result<std::vector<Bf16>> compute(const LargeCase& test, const std::map<int64_t, int64_t>& rows,
                                  ops::MoeNumerics numerics, VerifyDevice target,
                                  const ComponentOptions& options) {
  BlockShape shape = test.block.shape;
  shape.tokens = static_cast<int64_t>(rows.size());
  const auto hidden = static_cast<size_t>(shape.hidden);
  const auto slots = static_cast<size_t>(shape.slots);
  std::vector<Bf16> x(rows.size() * hidden);
  std::vector<int32_t> ids(rows.size() * slots);
  std::vector<float> weights(rows.size() * slots);
  for (const auto& [token, row] : rows) {
    const auto r = static_cast<size_t>(row);
    counter_values(test.seed, CounterTag::kX, static_cast<uint64_t>(token) * hidden, test.x_scale,
                   std::span(x).subspan(r * hidden, hidden));
    counter_expert_ids(test.seed, token, shape.experts, std::span(ids).subspan(r * slots, slots));
    counter_weights(test.seed, token, std::span(weights).subspan(r * slots, slots));
  }
  ExpertBlock block =
      TRY(ExpertBlock::create(target, shape, x, ids, weights, options.expert_pointers));
  TRY(fill_experts(test, ids, block));
  return TRY(block.run(numerics)).y;
}

Status check_size(const LargeCase& test, size_t tokens) {
  const BlockShape& s = test.block.shape;
  const int64_t weights = s.experts * s.intermediate * s.hidden;
  if (weights > kMaxLargeElements) return too_large(test, "a projection", weights);
  const int64_t pairs = static_cast<int64_t>(tokens) * s.slots * std::max(s.hidden, s.intermediate);
  if (pairs > kMaxLargeElements) return too_large(test, "a pair buffer", pairs);
  return {};
}

}  // namespace

Result<Finding> run_large_case(const LargeCase& test, ops::MoeNumerics numerics,
                               const std::filesystem::path& dir, VerifyDevice target,
                               const ComponentOptions& options) {
  const bool native = numerics == ops::MoeNumerics::kNative;
  const ComponentFile file = TRY(ComponentFile::open(dir / test.block.file));
  TRY(check_recipe(test, file));
  const int64_t samples = TRY(file.length("index"));
  if (samples > kMaxSamples) return too_large(test, "index", samples);
  const auto index = TRY(file.i64("index", {samples}));
  const auto wanted = TRY(file.bf16(native ? "native.y" : "legacy.y", {samples}));
  const auto rows = TRY(rows_of(test, index, options.full));
  TRY(check_size(test, rows.size()));
  const std::vector<Bf16> y = TRY(compute(test, rows, numerics, target, options));

  std::vector<Bf16> got;
  const int64_t hidden = test.block.shape.hidden;
  for (const int64_t position : index) {
    const int64_t row = rows.at(position / hidden);
    got.push_back(y[static_cast<size_t>(row * hidden + position % hidden)]);
  }
  const ChainSpread& spread = native ? test.block.native : test.block.legacy;
  const BufferRule rule{
      test.block.exact, spread[static_cast<size_t>(BufferPart::kY)], test.block.atol, {}};
  const BufferDeviation deviation = compare_buffer(got, wanted, 1, rule);
  return Finding{deviation.ok, fmt::format("y {}", deviation.measured()),
                 fmt::format("y {}", deviation.allowed(test.block.exact)),
                 deviation.ok ? "" : fmt::format("samples of y: {}", deviation.first_bad)};
}

}  // namespace moe::verify
