// The expert-block cases whose inputs and buffers are all in the file.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "verify/component_block.hpp"
#include "verify/component_compare.hpp"
#include "verify/component_runs.hpp"
#include "verify/component_tensors.hpp"

namespace moe::verify {
namespace {

// Spans into the case's file.
struct Inputs {
  std::span<const Bf16> x;
  std::span<const Bf16> gate;
  std::span<const Bf16> up;
  std::span<const Bf16> down;
  std::span<const int32_t> ids;
  std::span<const float> weights;
};
struct Wanted {
  std::span<const Bf16> act;
  std::span<const Bf16> down;
  std::span<const Bf16> y;
};

Result<Inputs> read_inputs(const ComponentFile& file, const BlockShape& s) {
  Inputs inputs;
  inputs.x = TRY(file.bf16("x", {s.tokens, s.hidden}));
  inputs.gate = TRY(file.bf16("w_gate", {s.experts, s.intermediate, s.hidden}));
  inputs.up = TRY(file.bf16("w_up", {s.experts, s.intermediate, s.hidden}));
  inputs.down = TRY(file.bf16("w_down", {s.experts, s.hidden, s.intermediate}));
  inputs.ids = TRY(file.i32("topk_ids", {s.tokens, s.slots}));
  inputs.weights = TRY(file.f32("topk_weights", {s.tokens, s.slots}));
  return inputs;
}

Result<Wanted> read_wanted(const ComponentFile& file, const std::string& chain,
                           const BlockShape& s) {
  Wanted wanted;
  wanted.act = TRY(file.bf16(chain + ".act", {s.tokens * s.slots, s.intermediate}));
  wanted.down = TRY(file.bf16(chain + ".down", {s.tokens * s.slots, s.hidden}));
  wanted.y = TRY(file.bf16(chain + ".y", {s.tokens, s.hidden}));
  return wanted;
}

// Rows that are not compared: by pair (act and down) or by token (y).
struct Skips {
  std::vector<char> pairs;
  std::vector<char> tokens;
};

Result<Skips> skips_of(const ExpertCase& test, std::span<const int32_t> ids) {
  Skips skips;
  skips.pairs.assign(ids.size(), 0);
  skips.tokens.assign(static_cast<size_t>(test.shape.tokens), 0);
  const auto slots = static_cast<size_t>(test.shape.slots);
  for (const int64_t row : test.rows_unchecked) {
    if (row >= test.shape.tokens) {
      return corrupt(fmt::format("case {}: rows_unchecked names row {} of {}", test.name, row,
                                 test.shape.tokens),
                     "correct cases.json");
    }
    const auto token = static_cast<size_t>(row);
    skips.tokens[token] = 1;
    for (size_t p = token * slots; p < (token + 1) * slots; ++p) skips.pairs[p] = 1;
  }
  for (size_t p = 0; p < ids.size(); ++p) {
    if (ids[p] == -1) skips.pairs[p] = 1;
  }
  return skips;
}

void add_part(Finding& finding, const char* part, const BufferDeviation& deviation, bool exact) {
  const char* separator = finding.measured.empty() ? "" : "; ";
  finding.measured += fmt::format("{}{} {}", separator, part, deviation.measured());
  if (exact) {
    finding.allowed = deviation.allowed(exact);
  } else {
    finding.allowed += fmt::format("{}{} {}", separator, part, deviation.allowed(exact));
  }
  if (deviation.ok) return;
  finding.ok = false;
  finding.detail +=
      fmt::format("{}{}: {}", finding.detail.empty() ? "" : "; ", part, deviation.first_bad);
}

}  // namespace

Result<Finding> run_expert_case(const ExpertCase& test, ops::MoeNumerics numerics,
                                const std::filesystem::path& dir, VerifyDevice target,
                                const ComponentOptions& options) {
  const bool native = numerics == ops::MoeNumerics::kNative;
  const BlockShape& shape = test.shape;
  const ComponentFile file = TRY(ComponentFile::open(dir / test.file));
  const Inputs inputs = TRY(read_inputs(file, shape));
  const Wanted wanted = TRY(read_wanted(file, native ? "native" : "legacy", shape));
  const Skips skips = TRY(skips_of(test, inputs.ids));

  ExpertBlock block = TRY(ExpertBlock::create(target, shape, inputs.x, inputs.ids, inputs.weights,
                                              options.expert_pointers));
  const auto size = static_cast<size_t>(shape.hidden * shape.intermediate);
  for (int64_t e = 0; e < shape.experts; ++e) {
    const size_t begin = static_cast<size_t>(e) * size;
    TRY(block.fill_expert(e, inputs.gate.subspan(begin, size), inputs.up.subspan(begin, size),
                          inputs.down.subspan(begin, size)));
  }
  const BlockOutputs got = TRY(block.run(numerics));

  const ChainSpread& spread = native ? test.native : test.legacy;
  const auto rule = [&](BufferPart part, const std::vector<char>& skip) {
    return BufferRule{test.exact, spread[static_cast<size_t>(part)], test.atol, skip};
  };
  Finding finding;
  add_part(
      finding, "act",
      compare_buffer(got.act, wanted.act, shape.intermediate, rule(BufferPart::kAct, skips.pairs)),
      test.exact);
  add_part(
      finding, "down",
      compare_buffer(got.down, wanted.down, shape.hidden, rule(BufferPart::kDown, skips.pairs)),
      test.exact);
  add_part(finding, "y",
           compare_buffer(got.y, wanted.y, shape.hidden, rule(BufferPart::kY, skips.tokens)),
           test.exact);
  return finding;
}

}  // namespace moe::verify
