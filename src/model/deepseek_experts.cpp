#include "model/deepseek_experts.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "model/configure.hpp"

namespace moe::model {
namespace {

constexpr double kSmallestScale = 1e-6;
constexpr double kLargestScale = 1e6;

Status configure_groups(const io::HfConfig& config, MoeConfig& moe) {
  moe.groups = TRY(config.integer_or("n_group", 1, 1, moe.experts));
  moe.kept_groups = TRY(config.integer_or("topk_group", 1, 1, moe.groups));
  moe.group_score = ops::GroupScore::kTop2Sum;
  if (moe.experts % moe.groups != 0) {
    return corrupt(fmt::format("config.json: n_group is {}, wanted a divisor of n_routed_experts "
                               "= {}",
                               moe.groups, moe.experts),
                   "restore config.json from its source");
  }
  const int64_t candidates = moe.experts / moe.groups * moe.kept_groups;
  if (moe.slots <= candidates) return {};
  return corrupt(fmt::format("config.json: num_experts_per_tok is {}, but topk_group = {} leaves "
                             "{} experts",
                             moe.slots, moe.kept_groups, candidates),
                 "restore config.json from its source");
}

Status configure_router(const io::HfConfig& config, bool renormalize, MoeConfig& moe) {
  const std::string scoring = TRY(config.string_or("scoring_func", "sigmoid"));
  if (scoring != "sigmoid") return unsupported_field("scoring_func", scoring, "sigmoid");
  const std::string method = TRY(config.string_or("topk_method", "noaux_tc"));
  if (method != "noaux_tc") return unsupported_field("topk_method", method, "noaux_tc");
  moe.scoring = ops::RouterScoring::kSigmoid;
  moe.renormalize = TRY(config.boolean_or("norm_topk_prob", renormalize));
  moe.router_f32 = true;
  moe.correction_bias = true;
  return configure_groups(config, moe);
}

Status configure_shared(const io::HfConfig& config, MoeConfig& moe) {
  const int64_t shared = TRY(config.integer_or("n_shared_experts", 0, 0, kMaxExperts));
  moe.shared_intermediate = shared * moe.intermediate;  // at most 2^32
  moe.names.shared_expert = "shared_experts.";
  return {};
}

}  // namespace

Result<float> configure_deepseek_experts(const io::HfConfig& config, bool renormalize,
                                         DecoderConfig& decoder) {
  MoeConfig& moe = decoder.moe;
  moe.experts = TRY(config.integer("n_routed_experts", 1, kMaxExperts));
  moe.slots = TRY(config.integer("num_experts_per_tok", 1, moe.experts));
  moe.intermediate = TRY(config.integer("moe_intermediate_size", 1, kMaxWidth));
  TRY(configure_router(config, renormalize, moe));
  TRY(configure_shared(config, moe));
  const int64_t step = TRY(config.integer_or("moe_layer_freq", 1));
  if (step != 1) return unsupported_field("moe_layer_freq", fmt::format("{}", step), "1");
  const int64_t dense = TRY(config.integer_or("first_k_dense_replace", 0, 0, kMaxLayers));
  for (int64_t layer = dense; layer < decoder.layer_count(); ++layer) {
    decoder.layers[static_cast<size_t>(layer)].moe = true;
  }
  if (dense > 0) TRY(configure_dense_width(config, decoder));
  return static_cast<float>(
      TRY(config.number_or("routed_scaling_factor", 1.0, kSmallestScale, kLargestScale)));
}

}  // namespace moe::model
