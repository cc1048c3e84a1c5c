// A loaded decoder: configuration, weights on a device, and the family's forward function.
//
// The engine drives it: hidden_states() for a batch, then logits() for the rows it needs.
// One thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/hf_config.hpp"
#include "model/config.hpp"
#include "model/forward_context.hpp"
#include "model/weights.hpp"
#include "ops/moe_chain.hpp"

namespace moe::model {

class Model;

// One row of the catalogue: everything a family brings.
struct Architecture {
  std::string_view name;    // as in config.json's "architectures"
  std::string_view family;  // for docs/models.md
  Result<DecoderConfig> (*configure)(const io::HfConfig&);
  Result<DecoderWeights> (*load)(WeightLoader&, const DecoderConfig&);
  // hidden[t] = the final normed state of each token, [T, H] bf16.
  Status (*forward)(ForwardContext&, const Model&, std::span<const ops::KvCacheView>, View hidden);
};

struct LoadOptions {
  ops::MoeNumerics moe_numerics = ops::MoeNumerics::kNative;
  int64_t positions = 0;  // length of the RoPE table: the longest sequence that will be run
  LoadProgress on_progress;
};

class Model {
 public:
  // Errors: not_found/corrupt/unsupported from the checkpoint and the configuration; unsupported
  // when the architecture is not in the catalogue (names those that are).
  static Result<std::unique_ptr<Model>> load(const std::filesystem::path& model_dir, Device& device,
                                             ops::OpTable& table, const LoadOptions& options);

  const Architecture& architecture() const { return *architecture_; }
  const DecoderConfig& config() const { return config_; }
  const DecoderWeights& weights() const { return weights_; }
  const ops::MoeChain& moe_chain() const { return chain_; }
  ConstView cos_sin() const { return cos_sin_; }
  // Configuration fields that were found and not understood.
  const std::vector<std::string>& unread_fields() const { return unread_fields_; }

  // hidden: [T, H] bf16, from the arena.
  Result<View> hidden_states(ForwardContext& context,
                             std::span<const ops::KvCacheView> caches) const;
  // Logits [rows.size, V] bf16 of the given rows of `hidden`.
  Result<View> logits(ForwardContext& context, ConstView hidden, Array<const int32_t> rows) const;

 private:
  Model() = default;

  const Architecture* architecture_ = nullptr;
  DecoderConfig config_;
  DecoderWeights weights_;
  ops::MoeChain chain_;
  ConstView cos_sin_;
  std::vector<std::string> unread_fields_;
  std::shared_ptr<const io::Checkpoint> checkpoint_;  // mapped weights live as long as the model
  std::vector<Buffer> buffers_;
};

}  // namespace moe::model
