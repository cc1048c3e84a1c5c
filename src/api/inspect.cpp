#include "moe/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "api/tensor_parts.hpp"
#include "io/checkpoint.hpp"
#include "io/hf_config.hpp"
#include "model/catalogue.hpp"

namespace moe {
namespace {

using api::TensorPart;

// Fields worth showing, in this order, where they are plain values. Families name things
// differently; what a file does not have is left out.
constexpr std::string_view kShownFields[] = {"model_type",
                                             "torch_dtype",
                                             "dtype",
                                             "num_hidden_layers",
                                             "hidden_size",
                                             "intermediate_size",
                                             "vocab_size",
                                             "max_position_embeddings",
                                             "num_attention_heads",
                                             "num_key_value_heads",
                                             "head_dim",
                                             "kv_lora_rank",
                                             "q_lora_rank",
                                             "qk_nope_head_dim",
                                             "qk_rope_head_dim",
                                             "v_head_dim",
                                             "sliding_window",
                                             "rope_theta",
                                             "rms_norm_eps",
                                             "hidden_act",
                                             "num_experts",
                                             "num_local_experts",
                                             "n_routed_experts",
                                             "moe_num_experts",
                                             "num_experts_per_tok",
                                             "moe_k",
                                             "moe_intermediate_size",
                                             "n_shared_experts",
                                             "moe_num_shared_experts",
                                             "shared_expert_intermediate_size",
                                             "n_group",
                                             "topk_group",
                                             "norm_topk_prob",
                                             "routed_scaling_factor",
                                             "scoring_func",
                                             "first_k_dense_replace",
                                             "decoder_sparse_step",
                                             "tie_word_embeddings"};

// The first of `keys` that the configuration has as an integer above 0.
std::optional<int64_t> first_integer(const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number_integer()) continue;
    const int64_t value = found->get<int64_t>();
    if (value > 0) return value;
  }
  return std::nullopt;
}

uint64_t element_count(const io::TensorInfo& tensor) {
  return tensor.bytes / static_cast<uint64_t>(io::size_of(tensor.type));
}

void read_configuration(const io::HfConfig& config, CheckpointInfo& info) {
  const Json& json = config.json();
  for (const std::string_view key : kShownFields) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null() || found->is_structured()) continue;
    std::string value = found->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found->is_string()) value = value.substr(1, value.size() - 2);
    info.configuration.emplace_back(key, std::move(value));
  }
  const auto tied = json.find("tie_word_embeddings");
  info.tied_head = tied != json.end() && tied->is_boolean() && tied->get<bool>();
}

// Whether the build runs it, and what only a known architecture can tell.
void ask_catalogue(const io::HfConfig& config, CheckpointInfo& info) {
  Result<std::string> architecture = config.architecture();
  if (!architecture.ok()) {
    info.notes.push_back(architecture.error().message);
    return;
  }
  info.architecture = *architecture;
  const Result<const model::Architecture*> found = model::find_architecture(*architecture);
  if (!found.ok()) {
    info.notes.push_back("this build cannot run it: " + found.error().message);
    return;
  }
  const Result<model::DecoderConfig> decoder = (*found)->configure(config);
  if (!decoder.ok()) {
    info.notes.push_back("this build cannot run it: " + decoder.error().message);
    return;
  }
  info.runs_here = true;
  info.tied_head = decoder->tied_embeddings;
  info.kv_bytes_per_token = decoder->kv_bytes_per_token();
}

class Tally {
 public:
  Tally(const io::Checkpoint& checkpoint, std::optional<int64_t> layers)
      : checkpoint_(checkpoint), layers_(layers) {}

  void add(const io::TensorInfo& tensor) {
    const TensorPart part = api::part_of(tensor.name, layers_);
    CheckpointInfo::Part& row = parts_[static_cast<size_t>(part)];
    row.tensors += 1;
    row.parameters += part == TensorPart::kBuffers ? 0 : element_count(tensor);
    row.bytes += tensor.bytes;
    CheckpointInfo::TypeUse& type = types_[tensor.type];
    type.tensors += 1;
    type.bytes += tensor.bytes;
    CheckpointInfo::Shard& shard = shards_[tensor.shard];
    if (shard.file.empty()) shard.file = checkpoint_.file_of(tensor).filename().string();
    shard.tensors += 1;
    shard.bytes += tensor.bytes;
  }

  const CheckpointInfo::Part& part(TensorPart which) const {
    return parts_[static_cast<size_t>(which)];
  }

  void move_into(CheckpointInfo& info) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].tensors == 0) continue;
      parts_[i].name = api::name_of(static_cast<TensorPart>(i));
      info.parts.push_back(std::move(parts_[i]));
    }
    for (auto& [type, use] : types_) {
      use.type = io::name_of(type);
      info.types.push_back(std::move(use));
    }
    for (auto& [number, shard] : shards_) info.shards.push_back(std::move(shard));
  }

 private:
  const io::Checkpoint& checkpoint_;
  std::optional<int64_t> layers_;
  std::array<CheckpointInfo::Part, api::kTensorPartCount> parts_;
  std::map<io::StoredType, CheckpointInfo::TypeUse> types_;
  std::map<int, CheckpointInfo::Shard> shards_;
};

void count_parameters(const Json& config, const Tally& tally, CheckpointInfo& info) {
  uint64_t all = 0;
  for (int i = 0; i < api::kTensorPartCount; ++i) {
    all += tally.part(static_cast<TensorPart>(i)).parameters;
  }
  const uint64_t head = tally.part(TensorPart::kHead).parameters;
  if (info.tied_head && head > 0) {
    all -= head;
    info.notes.push_back("the file holds a copy of the tied output head, counted once");
  }
  info.parameters = all;

  const uint64_t experts = tally.part(TensorPart::kExperts).parameters;
  uint64_t active = all - tally.part(TensorPart::kExtraLayers).parameters - experts;
  if (experts > 0) {
    const auto count = first_integer(
        config, {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"});
    const auto chosen = first_integer(
        config, {"num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk", "top_k"});
    if (!count || !chosen || *chosen > *count || experts % static_cast<uint64_t>(*count) != 0) {
      info.notes.push_back(
          "the parameters of one token are not known: the expert counts of "
          "config.json do not fit the tensors");
      return;
    }
    active += experts / static_cast<uint64_t>(*count) * static_cast<uint64_t>(*chosen);
  }
  info.active_parameters = active;
}

void list_largest(const io::Checkpoint& checkpoint, CheckpointInfo& info) {
  std::vector<const io::TensorInfo*> order;
  for (const io::TensorInfo& tensor : checkpoint.tensors()) order.push_back(&tensor);
  const size_t count = std::min(order.size(), CheckpointInfo::kLargestTensors);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [](const io::TensorInfo* a, const io::TensorInfo* b) {
                      return a->bytes != b->bytes ? a->bytes > b->bytes : a->name < b->name;
                    });
  for (size_t i = 0; i < count; ++i) {
    const io::TensorInfo& tensor = *order[i];
    info.largest.push_back({tensor.name, std::string(io::name_of(tensor.type)), tensor.shape,
                            tensor.bytes, checkpoint.file_of(tensor).filename().string()});
  }
}

}  // namespace

Result<CheckpointInfo> inspect(const std::string& folder) {
  const io::HfConfig config = TRY(io::HfConfig::load(folder));
  const std::shared_ptr<const io::Checkpoint> checkpoint =
      TRY(io::Checkpoint::open(folder, io::DataAccess::kHeadersOnly));
  CheckpointInfo info;
  read_configuration(config, info);
  ask_catalogue(config, info);
  const Json& json = config.json();
  Tally tally(*checkpoint, first_integer(json, {"num_hidden_layers", "n_layer"}));
  for (const io::TensorInfo& tensor : checkpoint->tensors()) tally.add(tensor);
  count_parameters(json, tally, info);
  tally.move_into(info);
  info.bytes = checkpoint->total_bytes();
  list_largest(*checkpoint, info);
  return info;
}

}  // namespace moe
