#include "model/model.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "model/catalogue.hpp"
#include "model/rope_table.hpp"

namespace moe::model {
namespace {

// Copies host values into a new device buffer.
template <class T>
Result<Buffer> upload(Device& device, const std::vector<T>& values) {
  Buffer buffer = TRY(device.allocate(values.size() * sizeof(T)));
  TRY(device.copy_to_device(buffer.data(), values.data(), values.size() * sizeof(T)));
  return buffer;
}

bool has_moe_layer(const DecoderConfig& config) {
  for (const LayerConfig& layer : config.layers) {
    if (layer.moe) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::filesystem::path& model_dir, Device& device,
                                           ops::OpTable& table, const LoadOptions& options) {
  const io::HfConfig hf = TRY(io::HfConfig::load(model_dir));
  auto model = std::unique_ptr<Model>(new Model);
  model->architecture_ = TRY(find_architecture(TRY(hf.architecture())));
  model->config_ = TRY(model->architecture_->configure(hf));
  model->unread_fields_ = hf.unread_keys();
  const DecoderConfig& config = model->config_;

  model->checkpoint_ = TRY(io::Checkpoint::open(model_dir));
  WeightLoader loader(model->checkpoint_, device, options.on_progress);
  model->weights_ = TRY(model->architecture_->load(loader, config));
  model->buffers_ = loader.take_buffers();

  if (has_moe_layer(config)) {
    const MoeConfig& moe = config.moe;
    model->chain_ = ops::select_moe_chain(
        table, {config.hidden, moe.intermediate, moe.experts, moe.slots}, options.moe_numerics);
  }
  const AttentionConfig& attention = config.attention;
  model->buffers_.push_back(
      TRY(upload(device, rope_table(attention.rope, attention.rotary_dim, options.positions))));
  model->cos_sin_ = {model->buffers_.back().data(), DType::kBf16, options.positions,
                     attention.rotary_dim, attention.rotary_dim};
  return model;
}

Result<View> Model::hidden_states(ForwardContext& context,
                                  std::span<const ops::KvCacheView> caches) const {
  CHECK_EQ(static_cast<int64_t>(caches.size()), config_.layer_count());
  const View hidden =
      context.arena.matrix(DType::kBf16, context.batch.token_count(), config_.hidden);
  TRY(architecture_->forward(context, *this, caches, hidden));
  return hidden;
}

Result<View> Model::logits(ForwardContext& context, ConstView hidden,
                           Array<const int32_t> rows) const {
  const View chosen = context.arena.matrix(DType::kBf16, rows.size, config_.hidden);
  const View logits = context.arena.matrix(DType::kBf16, rows.size, config_.vocab_size);
  TRY(context.ops.run(ops::GatherRows{hidden, rows, chosen}));
  TRY(context.ops.run(ops::Linear{chosen, weights_.head, {}, logits}));
  if (config_.logits_multiplier != 1) {
    TRY(context.ops.run(ops::ScaleAdd{logits, {}, config_.logits_multiplier, {}, logits}));
  }
  return logits;
}

}  // namespace moe::model
