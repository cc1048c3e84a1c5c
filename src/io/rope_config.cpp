#include "io/rope_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "base/errors.hpp"
#include "io/quote.hpp"

namespace moe::io {
namespace {

constexpr double kMaxTheta = 1e18;
constexpr double kMaxFactor = 1e6;
constexpr int64_t kMaxPositions = int64_t{1} << 40;
constexpr double kSmallest = 1e-12;

std::optional<RopeType> type_of_name(std::string_view name) {
  if (name == "default") return RopeType::kDefault;
  if (name == "linear") return RopeType::kLinear;
  if (name == "dynamic") return RopeType::kDynamic;
  if (name == "yarn") return RopeType::kYarn;
  if (name == "longrope" || name == "su") return RopeType::kLongRope;
  if (name == "llama3") return RopeType::kLlama3;
  return std::nullopt;
}

// The two forms in one file must not contradict each other.
Status check_agreement(const ConfigObject& config) {
  if (!config.has("rope_parameters") || !config.has("rope_scaling")) return {};
  Json parameters = config.json()["rope_parameters"];
  Json scaling = config.json()["rope_scaling"];
  if (parameters.is_object() && scaling.is_object()) {
    for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
      parameters.erase(key);
      scaling.erase(key);
    }
    if (parameters == scaling) return {};
  }
  return corrupt(
      fmt::format("{} and rope_scaling are both given and differ", config.where("rope_parameters")),
      "remove one of the two");
}

// One object for each kind of layer, as in {"full_attention": {...}, "sliding_attention": {...}}.
Status refuse_per_layer_form(const ConfigObject& rope, std::string_view key) {
  for (const auto& item : rope.json().items()) {
    if (!item.value().is_object()) continue;
    return unsupported(
        fmt::format("{}: {} has settings per layer type ({}), wanted one set for all "
                    "layers",
                    rope.source(), key, quote(item.key())),
        "this architecture needs a newer version of moe.cpp");
  }
  return {};
}

Status read_type(const ConfigObject& rope, RopeConfig& out) {
  const auto old_name = TRY(rope.optional_string("type"));
  const auto new_name = TRY(rope.optional_string("rope_type"));
  const std::string name = new_name.value_or(old_name.value_or("default"));
  const auto type = type_of_name(name);
  if (!type) {
    return unsupported(fmt::format("{} is {}, wanted default, linear, dynamic, yarn, longrope or "
                                   "llama3",
                                   rope.where(new_name ? "rope_type" : "type"), quote(name)),
                       "this kind of position embedding needs a newer version of moe.cpp");
  }
  if (old_name && new_name && type_of_name(*old_name) != type) {
    return corrupt(fmt::format("{} is {}, but rope_type is {}", rope.where("type"),
                               quote(*old_name), quote(*new_name)),
                   "remove one of the two");
  }
  out.type = *type;
  return {};
}

Status read_scaling(const ConfigObject& rope, RopeConfig& out) {
  out.factor = TRY(rope.optional_number("factor", kSmallest, kMaxFactor));
  out.original_max_position_embeddings =
      TRY(rope.optional_integer("original_max_position_embeddings", 1, kMaxPositions));
  out.attention_factor = TRY(rope.optional_number("attention_factor", kSmallest, kMaxFactor));
  out.beta_fast = TRY(rope.optional_number("beta_fast", kSmallest, kMaxFactor));
  out.beta_slow = TRY(rope.optional_number("beta_slow", kSmallest, kMaxFactor));
  out.mscale = TRY(rope.optional_number("mscale", 0, kMaxFactor));
  out.mscale_all_dim = TRY(rope.optional_number("mscale_all_dim", 0, kMaxFactor));
  out.truncate = TRY(rope.optional_boolean("truncate"));
  out.low_freq_factor = TRY(rope.optional_number("low_freq_factor", kSmallest, kMaxFactor));
  out.high_freq_factor = TRY(rope.optional_number("high_freq_factor", kSmallest, kMaxFactor));
  out.short_factor = TRY(rope.numbers("short_factor"));
  out.long_factor = TRY(rope.numbers("long_factor"));
  out.short_mscale = TRY(rope.optional_number("short_mscale", kSmallest, kMaxFactor));
  out.long_mscale = TRY(rope.optional_number("long_mscale", kSmallest, kMaxFactor));
  // Left by training scripts; it changes nothing.
  rope.ignore("finetuned");
  return {};
}

Status check_factors(const ConfigObject& rope, std::string_view key,
                     const std::vector<double>& factors, size_t count) {
  if (factors.empty() || factors.size() > kMaxRopeFactors || factors.size() != count) {
    return rope.wrong_value(key, fmt::format("short_factor and long_factor of one length in [1, "
                                             "{}], got {} and {}",
                                             kMaxRopeFactors, factors.size(), count));
  }
  for (double factor : factors) {
    if (!(factor > 0)) return rope.wrong_value(key, "positive factors");
  }
  return {};
}

// What each type cannot do without.
Status check_needs(const ConfigObject& rope, const RopeConfig& out) {
  switch (out.type) {
    case RopeType::kDefault:
      return {};
    case RopeType::kLinear:
    case RopeType::kDynamic:
    case RopeType::kYarn:
      TRY(rope.number("factor"));
      return {};
    case RopeType::kLongRope:
      TRY(check_factors(rope, "short_factor", out.short_factor, out.long_factor.size()));
      return check_factors(rope, "long_factor", out.long_factor, out.short_factor.size());
    case RopeType::kLlama3:
      TRY(rope.number("factor"));
      TRY(rope.number("low_freq_factor"));
      TRY(rope.number("high_freq_factor"));
      TRY(rope.integer("original_max_position_embeddings"));
      return {};
  }
  return {};
}

}  // namespace

Result<RopeConfig> rope_config(const ConfigObject& config, double default_theta) {
  RopeConfig out;
  TRY(check_agreement(config));
  const auto top_theta = TRY(config.optional_number("rope_theta", kSmallest, kMaxTheta));
  const auto top_partial = TRY(config.optional_number("partial_rotary_factor", kSmallest, 1.0));
  const auto top_original =
      TRY(config.optional_integer("original_max_position_embeddings", 1, kMaxPositions));
  out.theta = top_theta.value_or(default_theta);
  out.partial_rotary_factor = top_partial.value_or(1.0);

  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const auto rope = TRY(config.optional_object(key));
  if (rope) {
    TRY(refuse_per_layer_form(*rope, key));
    TRY(read_type(*rope, out));
    TRY(read_scaling(*rope, out));
    out.theta = TRY(rope->number_or("rope_theta", out.theta, kSmallest, kMaxTheta));
    out.partial_rotary_factor =
        TRY(rope->number_or("partial_rotary_factor", out.partial_rotary_factor, kSmallest, 1.0));
    TRY(check_needs(*rope, out));
    const auto unknown = rope->unread_keys();
    if (!unknown.empty()) {
      return unsupported(fmt::format("{}: unknown settings {}", config.source(),
                                     quote(fmt::format("{}", fmt::join(unknown, ", ")))),
                         "this kind of position embedding needs a newer version of moe.cpp");
    }
  }
  if (!out.original_max_position_embeddings) out.original_max_position_embeddings = top_original;
  return out;
}

}  // namespace moe::io
