// The router cases: ids exactly, weights within a relative bound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/component_device.hpp"
#include "verify/component_runs.hpp"
#include "verify/component_tensors.hpp"

namespace moe::verify {
namespace {

constexpr double kWeightBound = 1e-5;  // FP32 exp and sums over at most a few hundred experts

struct Routing {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

Result<Routing> route(const RouterCase& test, const ComponentFile& file, VerifyDevice target) {
  DeviceRunner runner(target);
  const std::string logits_name = test.name + ".logits";
  Buffer logits;
  if (test.bf16_logits) {
    const auto values = TRY(file.bf16(logits_name, {test.tokens, test.experts}));
    logits = TRY(runner.upload(values));
  } else {
    const auto values = TRY(file.f32(logits_name, {test.tokens, test.experts}));
    logits = TRY(runner.upload(values));
  }
  Buffer bias;
  ops::RouterTopK op = test.parameters;
  if (test.has_bias) {
    const auto values = TRY(file.f32(test.name + ".bias", {test.experts}));
    bias = TRY(runner.upload(values));
    op.bias = device_array<float>(bias, test.experts);
  }
  const int64_t pairs = test.tokens * test.slots;
  const auto count = static_cast<uint64_t>(pairs);
  Buffer ids = TRY(runner.output(count * sizeof(int32_t)));
  Buffer weights = TRY(runner.output(count * sizeof(float)));
  op.logits = {logits.data(), test.bf16_logits ? DType::kBf16 : DType::kF32, test.tokens,
               test.experts, test.experts};
  op.slots = test.slots;
  op.ids = {static_cast<int32_t*>(ids.data()), pairs};
  op.weights = {static_cast<float*>(weights.data()), pairs};
  TRY(runner.run(op));
  Routing routing;
  routing.ids = TRY(runner.download<int32_t>(ids, count));
  routing.weights = TRY(runner.download<float>(weights, count));
  return routing;
}

// |got - want| / |want|; infinity where a NaN or infinity does not match.
double relative_difference(float got, float want) {
  if (got == want) return 0;
  const double difference = std::fabs(double{got} - double{want});
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  return difference / std::max(std::fabs(double{want}), double{std::numeric_limits<float>::min()});
}

}  // namespace

Result<Finding> run_router_case(const RouterCase& test, const std::filesystem::path& dir,
                                VerifyDevice target) {
  const ComponentFile file = TRY(ComponentFile::open(dir / test.file));
  const auto ids = TRY(file.i32(test.name + ".topk_ids", {test.tokens, test.slots}));
  const auto weights = TRY(file.f32(test.name + ".topk_weights", {test.tokens, test.slots}));
  const Routing got = TRY(route(test, file, target));

  Finding finding;
  size_t wrong_ids = 0;
  double worst = 0;
  for (size_t p = 0; p < ids.size(); ++p) {
    const double difference = relative_difference(got.weights[p], weights[p]);
    const bool wrong = got.ids[p] != ids[p];
    wrong_ids += wrong ? 1 : 0;
    worst = std::max(worst, difference);
    if ((wrong || difference > kWeightBound) && finding.ok) {
      finding.ok = false;
      finding.detail =
          fmt::format("token {} slot {}: expert {} weight {}, wanted expert {} weight {}",
                      p / static_cast<size_t>(test.slots), p % static_cast<size_t>(test.slots),
                      got.ids[p], got.weights[p], ids[p], weights[p]);
    }
  }
  finding.measured =
      fmt::format("{}/{} ids differ, weights within {:.2g}", wrong_ids, ids.size(), worst);
  finding.allowed = fmt::format("0 ids, weights within {:g}", kWeightBound);
  return finding;
}

}  // namespace moe::verify
