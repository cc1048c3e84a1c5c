#include "io/expert_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/errors.hpp"
#include "io/quote.hpp"

namespace moe::io {
namespace {

constexpr const char* kCheckConfig = "check that config.json belongs to these weights";
constexpr std::string_view kSuffix = ".weight";

// Looks the weights of one query up.
class ExpertFinder {
 public:
  ExpertFinder(const Checkpoint& checkpoint, const ExpertQuery& query)
      : checkpoint_(checkpoint), query_(query), experts_prefix_(query.prefix + "experts.") {}

  Result<ExpertWeights> run();

 private:
  // gate_up and down of a stack; both null when that layout is not there.
  struct Stack {
    const TensorInfo* gate_up = nullptr;
    const TensorInfo* down = nullptr;
  };

  Result<const TensorInfo*> find(const std::string& name) const;
  Result<Stack> find_stack(const std::string& gate_up, const std::string& down) const;
  Result<bool> has_single_experts() const;
  Status check(const TensorInfo& tensor, std::vector<int64_t> shape) const;
  Status check_stack(const TensorInfo& tensor, int64_t outputs, int64_t inputs) const;
  Result<ExpertWeights> stacked(const Stack& stack) const;
  Result<ExpertWeights> single() const;
  Status single_gate_up(const std::string& prefix, ExpertWeights& out) const;

  Error missing(const std::string& name) const {
    return not_found(
        fmt::format("{}: the checkpoint has no tensor {}", checkpoint_.folder().string(),
                    quote(name + std::string(kSuffix))),
        "check that no shard is missing and that config.json belongs to these weights");
  }
  const std::byte* element(const TensorInfo& tensor, int64_t index) const {
    return tensor.data + index * size_of(query_.type);
  }

  const Checkpoint& checkpoint_;
  const ExpertQuery& query_;
  std::string experts_prefix_;
};

// The tensor of that name, with or without ".weight"; null when absent.
Result<const TensorInfo*> ExpertFinder::find(const std::string& name) const {
  const TensorInfo* plain = checkpoint_.find(name);
  const TensorInfo* suffixed = checkpoint_.find(name + std::string(kSuffix));
  if (plain != nullptr && suffixed != nullptr) {
    return corrupt(fmt::format("{}: has both {} and {}", checkpoint_.folder().string(),
                               quote(plain->name), quote(suffixed->name)),
                   "remove one of the two from the checkpoint");
  }
  return plain != nullptr ? plain : suffixed;
}

Result<ExpertFinder::Stack> ExpertFinder::find_stack(const std::string& gate_up,
                                                     const std::string& down) const {
  Stack stack;
  stack.gate_up = TRY(find(query_.prefix + gate_up));
  stack.down = TRY(find(query_.prefix + down));
  if ((stack.gate_up == nullptr) == (stack.down == nullptr)) return stack;
  return missing(query_.prefix + (stack.gate_up == nullptr ? gate_up : down));
}

// Whether there are tensors `experts.<number>.`; refuses numbers that the configuration excludes.
Result<bool> ExpertFinder::has_single_experts() const {
  bool found = false;
  for (const TensorInfo& tensor : checkpoint_.tensors_under(experts_prefix_)) {
    const std::string_view rest = std::string_view(tensor.name).substr(experts_prefix_.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool numbered =
        rest.find_first_of("0123456789") == 0 && end != rest.data() + rest.size() && *end == '.';
    if (!numbered) continue;
    found = true;
    if (error == std::errc() && number < query_.experts) continue;
    return corrupt(
        fmt::format("{}: tensor {} belongs to an expert past the last one, wanted {} "
                    "experts",
                    checkpoint_.file_of(tensor).string(), quote(tensor.name), query_.experts),
        kCheckConfig);
  }
  return found;
}

Status ExpertFinder::check(const TensorInfo& tensor, std::vector<int64_t> shape) const {
  TRY(checkpoint_.require(tensor.name, query_.type, shape));
  return {};
}

Status ExpertFinder::check_stack(const TensorInfo& tensor, int64_t outputs, int64_t inputs) const {
  const std::vector<int64_t> out_in = {query_.experts, outputs, inputs};
  const std::vector<int64_t> in_out = {query_.experts, inputs, outputs};
  const bool declared_out_in = query_.stack_layout == StackLayout::kOutIn;
  const auto& wanted = declared_out_in ? out_in : in_out;
  const auto& other = declared_out_in ? in_out : out_in;
  if (tensor.shape == other && tensor.shape != wanted) {
    return unsupported(
        fmt::format("{}: tensor {} has shape {}, wanted {}: the stack is {}transposed",
                    checkpoint_.file_of(tensor).string(), quote(tensor.name),
                    shape_text(tensor.shape), shape_text(wanted), declared_out_in ? "" : "not "),
        "save the checkpoint again with the last two dimensions of this tensor exchanged");
  }
  return check(tensor, wanted);
}

Result<ExpertWeights> ExpertFinder::stacked(const Stack& stack) const {
  const int64_t inner = query_.intermediate;
  const int64_t hidden = query_.hidden;
  TRY(check_stack(*stack.gate_up, 2 * inner, hidden));
  TRY(check_stack(*stack.down, hidden, inner));
  const bool out_in = query_.stack_layout == StackLayout::kOutIn;
  const int64_t gate_up_stride = out_in ? hidden : 2 * inner;
  const int64_t up_begin = out_in ? inner * hidden : inner;
  ExpertWeights out;
  out.layout = query_.stack_layout;
  for (int64_t j = 0; j < query_.experts; ++j) {
    const int64_t begin = j * 2 * inner * hidden;
    out.gate.push_back({element(*stack.gate_up, begin), gate_up_stride});
    out.up.push_back({element(*stack.gate_up, begin + up_begin), gate_up_stride});
    out.down.push_back({element(*stack.down, j * inner * hidden), out_in ? inner : hidden});
  }
  return out;
}

// Gate and up of the expert at `prefix`: two matrices, or one with the gate's rows first.
Status ExpertFinder::single_gate_up(const std::string& prefix, ExpertWeights& out) const {
  const int64_t inner = query_.intermediate;
  const int64_t hidden = query_.hidden;
  std::vector<const TensorInfo*> choices;
  for (const char* name : {"gate_up_proj", "w13"}) {
    const TensorInfo* both = TRY(find(prefix + name));
    if (both != nullptr) choices.push_back(both);
  }
  const TensorInfo* gate = TRY(find(prefix + std::string(query_.names.gate)));
  const TensorInfo* up = TRY(find(prefix + std::string(query_.names.up)));
  if (choices.size() + (gate != nullptr || up != nullptr ? 1 : 0) > 1) {
    return corrupt(fmt::format("{}: has {} beside other gate and up weights of the same expert",
                               checkpoint_.folder().string(), quote(choices.front()->name)),
                   "remove one of the two from the checkpoint");
  }
  if (!choices.empty()) {
    TRY(check(*choices.front(), {2 * inner, hidden}));
    out.gate.push_back({element(*choices.front(), 0), hidden});
    out.up.push_back({element(*choices.front(), inner * hidden), hidden});
    return {};
  }
  if (gate == nullptr) return missing(prefix + std::string(query_.names.gate));
  if (up == nullptr) return missing(prefix + std::string(query_.names.up));
  TRY(check(*gate, {inner, hidden}));
  TRY(check(*up, {inner, hidden}));
  out.gate.push_back({element(*gate, 0), hidden});
  out.up.push_back({element(*up, 0), hidden});
  return {};
}

Result<ExpertWeights> ExpertFinder::single() const {
  ExpertWeights out;
  for (int64_t j = 0; j < query_.experts; ++j) {
    const std::string prefix = fmt::format("{}{}.", experts_prefix_, j);
    TRY(single_gate_up(prefix, out));
    const std::string down_name = prefix + std::string(query_.names.down);
    const TensorInfo* down = TRY(find(down_name));
    if (down == nullptr) return missing(down_name);
    TRY(check(*down, {query_.hidden, query_.intermediate}));
    out.down.push_back({element(*down, 0), query_.intermediate});
  }
  return out;
}

Result<ExpertWeights> ExpertFinder::run() {
  const auto stack = TRY(find_stack("experts.gate_up_proj", "experts.down_proj"));
  const auto old_stack = TRY(find_stack("input_linear", "output_linear"));
  const bool singles = TRY(has_single_experts());
  const int layouts = (stack.gate_up != nullptr ? 1 : 0) + (old_stack.gate_up != nullptr ? 1 : 0) +
                      (singles ? 1 : 0);
  if (layouts > 1) {
    return corrupt(fmt::format("{}: the experts under {} are stored in more than one layout",
                               checkpoint_.folder().string(), quote(query_.prefix)),
                   "keep one layout in the checkpoint");
  }
  if (stack.gate_up != nullptr) return stacked(stack);
  if (old_stack.gate_up != nullptr) return stacked(old_stack);
  if (singles) return single();
  return not_found(
      fmt::format("{}: no expert weights under {}, wanted experts.<number>.{}, "
                  "experts.gate_up_proj or input_linear",
                  checkpoint_.folder().string(), quote(query_.prefix), query_.names.gate),
      kCheckConfig);
}

Status check_sizes(const ExpertQuery& query) {
  struct Row {
    const char* what;
    int64_t value;
    int64_t limit;
  };
  for (const Row& row : {Row{"experts", query.experts, kMaxExperts},
                         Row{"intermediate size", query.intermediate, kMaxExpertWidth},
                         Row{"hidden size", query.hidden, kMaxExpertWidth}}) {
    if (row.value >= 1 && row.value <= row.limit) continue;
    return invalid_argument(fmt::format("{}: number of {} is {}, wanted 1 to {}",
                                        quote(query.prefix), row.what, row.value, row.limit),
                            "check the values in config.json");
  }
  return {};
}

}  // namespace

Result<ExpertWeights> find_expert_weights(const Checkpoint& checkpoint, const ExpertQuery& query) {
  TRY(check_sizes(query));
  return ExpertFinder(checkpoint, query).run();
}

}  // namespace moe::io
