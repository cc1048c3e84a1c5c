// The weights of a decoder, as views on the device, and the loader that makes them from a
// checkpoint: in place where the device reads host memory, copied otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/expert_weights.hpp"
#include "model/config.hpp"
#include "ops/moe.hpp"
#include "tensor/device.hpp"
#include "tensor/view.hpp"

namespace moe::model {

struct AttentionWeights {
  ConstView q, k, v, o;                      // [out, in]
  ConstView q_bias, k_bias, v_bias, o_bias;  // [1, out], absent = none
  ConstView q_norm, k_norm;  // [1, head_dim or the projection's width], absent = none
};

struct DenseMlpWeights {
  ConstView gate, up;  // [I, H]
  ConstView down;      // [H, I]
};

struct MoeWeights {
  ConstView router;                    // [E, H] bf16, or f32 where the logits are f32
  Array<const float> correction_bias;  // [E], absent = none
  ops::ExpertMatrices gate;            // E x [I, H]
  ops::ExpertMatrices up;              // E x [I, H]
  ops::ExpertMatrices down;            // E x [H, I]
  DenseMlpWeights shared;              // used where there is a shared expert
  ConstView shared_gate;               // [1, H], absent = none
};

struct LayerWeights {
  ConstView input_norm;           // [1, H]
  ConstView post_attention_norm;  // [1, H]
  AttentionWeights attention;
  DenseMlpWeights dense;  // used where the layer is dense
  MoeWeights moe;         // used where it is not
};

struct DecoderWeights {
  ConstView embedding;   // [V, H]
  ConstView final_norm;  // [1, H]
  ConstView head;        // [V, H]; the embedding itself when tied
  std::vector<LayerWeights> layers;
};

// Called with (bytes done, bytes in total).
using LoadProgress = std::function<void(uint64_t, uint64_t)>;

// Brings tensors to a device and keeps what it allocated alive.
class WeightLoader {
 public:
  WeightLoader(std::shared_ptr<const io::Checkpoint> checkpoint, Device& device,
               LoadProgress progress);

  bool has(const std::string& name) const { return checkpoint_->find(name) != nullptr; }
  const io::Checkpoint& checkpoint() const { return *checkpoint_; }

  // A BF16 tensor of exactly [rows, cols]. Errors: not_found, corrupt (shape), unsupported (dtype),
  // each with file, tensor, got, wanted.
  Result<ConstView> matrix(const std::string& name, int64_t rows, int64_t cols);
  // A BF16 tensor of shape [cols], as [1, cols].
  Result<ConstView> vector(const std::string& name, int64_t cols);

  // As matrix(), F32 if the checkpoint has it so.
  Result<ConstView> matrix_or_f32(const std::string& name, int64_t rows, int64_t cols);
  // A tensor of shape [count] or [1, count] in F32 or BF16, as F32.
  Result<Array<const float>> floats(const std::string& name, int64_t count);

  // All experts of one layer, any layout on disk that io/expert_weights.hpp accepts.
  // `block_prefix` ends in a dot: "model.layers.0.mlp.". Sets gate, up and down.
  Status experts(const std::string& block_prefix, const MoeConfig& moe, int64_t hidden,
                 MoeWeights& weights);

  // The memory that the returned views need, to be kept with the model.
  std::vector<Buffer> take_buffers() { return std::move(buffers_); }

 private:
  Result<const void*> on_device(const std::byte* host, uint64_t bytes);
  Result<const void*> uploaded(const void* host, uint64_t bytes);
  void report(uint64_t bytes);
  Result<ops::ExpertMatrices> expert_matrices(const std::vector<io::ExpertMatrix>& experts,
                                              int64_t rows, int64_t cols);

  std::shared_ptr<const io::Checkpoint> checkpoint_;
  Device& device_;
  LoadProgress progress_;
  uint64_t bytes_done_ = 0;
  std::vector<Buffer> buffers_;
};

}  // namespace moe::model
