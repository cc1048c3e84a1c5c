#include "verify/component_cases.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "io/config_object.hpp"
#include "io/file_map.hpp"

namespace moe::verify {
namespace {

using io::ConfigObject;

constexpr double kMaxScale = 1e6;

// A name or file that stays inside the folder and on one line of a report.
Result<std::string> plain_name(const ConfigObject& object, std::string_view key) {
  std::string name = TRY(object.string(key));
  const bool plain =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
      std::string::npos;
  if (name.empty() || name.size() > 200 || name[0] == '.' || !plain) {
    return object.wrong_value(key, "letters, digits, '_', '-' and '.', not starting with '.'");
  }
  return name;
}

Result<ChainSpread> read_spread(const ConfigObject& spreads, std::string_view chain) {
  ChainSpread spread;
  const auto of_chain = TRY(spreads.optional_object(chain));
  if (!of_chain) return spread;
  constexpr std::array<std::string_view, kBufferParts> kNames = {"act", "down", "y"};
  for (size_t part = 0; part < kBufferParts; ++part) {
    const auto numbers = TRY(of_chain->optional_object(kNames[part]));
    if (!numbers) continue;
    spread[part].max_abs = TRY(numbers->number_or("max_abs", 0, 0));
    spread[part].changed = TRY(numbers->number_or("changed", 0, 0));
    spread[part].of = TRY(numbers->number_or("of", 0, 0));
  }
  return spread;
}

Result<ExpertCase> read_expert(const ConfigObject& object) {
  ExpertCase test;
  test.name = TRY(plain_name(object, "name"));
  test.file = TRY(plain_name(object, "file"));
  test.shape.tokens = TRY(object.integer("M", 0, kMaxCaseTokens));
  test.shape.hidden = TRY(object.integer("H", 1, kMaxCaseWidth));
  test.shape.intermediate = TRY(object.integer("I", 1, kMaxCaseWidth));
  test.shape.experts = TRY(object.integer("E", 1, kMaxCaseExperts));
  test.shape.slots = TRY(object.integer("topk", 1, kMaxCaseExperts));
  test.exact = TRY(object.boolean_or("exact", false));
  test.required = TRY(object.boolean_or("required", true));
  test.atol = TRY(object.number_or("atol", 0, 0));
  test.rows_unchecked = TRY(object.integers("rows_unchecked", 0, kMaxCaseTokens));
  if (const auto spreads = TRY(object.optional_object("fp32_order_spread"))) {
    test.native = TRY(read_spread(*spreads, "native"));
    test.legacy = TRY(read_spread(*spreads, "legacy"));
  }
  return test;
}

// A power of two, as the recipe demands, so that the product is exact.
Result<double> read_scale(const ConfigObject& scales, std::string_view key) {
  const double scale = TRY(scales.number(key, 1 / kMaxScale, kMaxScale));
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5) return scales.wrong_value(key, "a power of two");
  return scale;
}

Result<LargeCase> read_large(const ConfigObject& object) {
  LargeCase test;
  test.block = TRY(read_expert(object));
  const std::string generator = TRY(object.string("generator"));
  if (generator != "counter") return object.wrong_value("generator", "\"counter\"");
  test.seed = static_cast<uint64_t>(TRY(object.integer("generator_seed", 0, int64_t{1} << 53)));
  const auto scales = TRY(object.optional_object("scales"));
  if (!scales) return object.wrong_value("scales", "an object of four numbers");
  test.x_scale = TRY(read_scale(*scales, "x"));
  test.gate_scale = TRY(read_scale(*scales, "w_gate"));
  test.up_scale = TRY(read_scale(*scales, "w_up"));
  test.down_scale = TRY(read_scale(*scales, "w_down"));
  if (test.block.shape.slots > test.block.shape.experts) {
    return object.wrong_value("topk", "at most E, since the recipe chooses different experts");
  }
  return test;
}

Result<ops::RouterScoring> read_scoring(const ConfigObject& object) {
  const std::string name = TRY(object.string("scoring"));
  if (name == "softmax") return ops::RouterScoring::kSoftmax;
  if (name == "softmax_after_topk") return ops::RouterScoring::kSoftmaxAfterTopK;
  if (name == "sigmoid") return ops::RouterScoring::kSigmoid;
  return object.wrong_value("scoring", "\"softmax\", \"softmax_after_topk\" or \"sigmoid\"");
}

Result<ops::GroupScore> read_group_score(const ConfigObject& object) {
  const std::string name = TRY(object.string_or("group_score", "max"));
  if (name == "max") return ops::GroupScore::kMax;
  if (name == "top2sum") return ops::GroupScore::kTop2Sum;
  return object.wrong_value("group_score", "\"max\" or \"top2sum\"");
}

Result<RouterCase> read_router(const ConfigObject& object) {
  RouterCase test;
  test.name = TRY(plain_name(object, "name"));
  test.file = TRY(plain_name(object, "file"));
  test.tokens = TRY(object.integer("T", 0, kMaxCaseTokens));
  test.experts = TRY(object.integer("E", 1, kMaxCaseExperts));
  test.slots = TRY(object.integer("topk", 1, test.experts));
  const std::string dtype = TRY(object.string("logits_dtype"));
  if (dtype != "f32" && dtype != "bf16") {
    return object.wrong_value("logits_dtype", "\"f32\" or \"bf16\"");
  }
  test.bf16_logits = dtype == "bf16";
  test.has_bias = TRY(object.boolean_or("has_bias", false));
  ops::RouterTopK& router = test.parameters;
  router.scoring = TRY(read_scoring(object));
  router.renormalize = TRY(object.boolean_or("renormalize", false));
  router.groups = TRY(object.integer_or("n_group", 1, 1, test.experts));
  router.kept_groups = TRY(object.integer_or("topk_group", 1, 1, router.groups));
  router.group_score = TRY(read_group_score(object));
  router.scale = static_cast<float>(TRY(object.number_or("scale", 1, -kMaxScale, kMaxScale)));
  return test;
}

// Each object of the array `key`; an absent array is an empty list.
template <class Case>
Result<std::vector<Case>> read_list(const Json& root, const std::string& source, const char* key,
                                    Result<Case> (*read)(const ConfigObject&)) {
  std::vector<Case> cases;
  const auto list = root.find(key);
  if (list == root.end()) return cases;
  if (!list->is_array()) {
    return corrupt(fmt::format("{}: \"{}\" is {}, wanted an array", source, key, list->type_name()),
                   "copy the oracle folder again");
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = fmt::format("{}: {}[{}]", source, key, i);
    const ConfigObject object = TRY(ConfigObject::parse((*list)[i].dump(), where));
    cases.push_back(TRY(read(object)));
  }
  return cases;
}

}  // namespace

Result<ComponentCases> read_component_cases(const std::filesystem::path& path) {
  const std::string source = path.string();
  const std::string text = TRY(io::read_small_file(path, kMaxCasesBytes));
  const Json root = TRY(parse_json(text, source, {kMaxCasesBytes, io::kMaxConfigDepth}));
  if (!root.is_object()) {
    return corrupt(fmt::format("{} holds {}, wanted an object", source, root.type_name()),
                   "copy the oracle folder again");
  }
  ComponentCases cases;
  cases.experts = TRY(read_list(root, source, "expert", read_expert));
  cases.large = TRY(read_list(root, source, "expert_large", read_large));
  cases.routers = TRY(read_list(root, source, "router", read_router));
  return cases;
}

}  // namespace moe::verify
