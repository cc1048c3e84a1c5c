#include "model/weights.hpp"

#include <cstring>

#include "base/check.hpp"

namespace moe::model {

WeightLoader::WeightLoader(std::shared_ptr<const io::Checkpoint> checkpoint, Device& device,
                           LoadProgress progress)
    : checkpoint_(std::move(checkpoint)), device_(device), progress_(std::move(progress)) {}

Result<const void*> WeightLoader::on_device(const std::byte* host, uint64_t bytes) {
  report(bytes);
  if (device_.reads_host_memory()) return static_cast<const void*>(host);
  return uploaded(host, bytes);
}

void WeightLoader::report(uint64_t bytes) {
  bytes_done_ += bytes;
  if (progress_) progress_(bytes_done_, checkpoint_->total_bytes());
}

Result<const void*> WeightLoader::uploaded(const void* host, uint64_t bytes) {
  Buffer buffer = TRY(device_.allocate(bytes));
  TRY(device_.copy_to_device(buffer.data(), host, bytes));
  const void* data = buffer.data();
  buffers_.push_back(std::move(buffer));
  return data;
}

Result<ConstView> WeightLoader::matrix(const std::string& name, int64_t rows, int64_t cols) {
  const int64_t shape[] = {rows, cols};
  const io::TensorInfo* tensor = TRY(checkpoint_->require(name, io::StoredType::kBf16, shape));
  return ConstView{TRY(on_device(tensor->data, tensor->bytes)), DType::kBf16, rows, cols, cols};
}

Result<ConstView> WeightLoader::matrix_or_f32(const std::string& name, int64_t rows, int64_t cols) {
  const io::TensorInfo* found = checkpoint_->find(name);
  if (found == nullptr || found->type != io::StoredType::kF32) return matrix(name, rows, cols);
  const int64_t shape[] = {rows, cols};
  const io::TensorInfo* tensor = TRY(checkpoint_->require(name, io::StoredType::kF32, shape));
  return ConstView{TRY(on_device(tensor->data, tensor->bytes)), DType::kF32, rows, cols, cols};
}

Result<ConstView> WeightLoader::vector(const std::string& name, int64_t cols) {
  const int64_t shape[] = {cols};
  const io::TensorInfo* tensor = TRY(checkpoint_->require(name, io::StoredType::kBf16, shape));
  return ConstView{TRY(on_device(tensor->data, tensor->bytes)), DType::kBf16, 1, cols, cols};
}

Result<Array<const float>> WeightLoader::floats(const std::string& name, int64_t count) {
  const io::TensorInfo* found = checkpoint_->find(name);
  const bool bf16 = found != nullptr && found->type == io::StoredType::kBf16;
  const std::vector<int64_t> flat = {count};
  const std::vector<int64_t> row = {1, count};
  const io::TensorInfo* tensor =
      TRY(checkpoint_->require(name, bf16 ? io::StoredType::kBf16 : io::StoredType::kF32,
                               found != nullptr && found->shape == row ? row : flat));
  report(tensor->bytes);
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (bf16) {
      Bf16 stored;
      std::memcpy(&stored, tensor->data + i * sizeof stored, sizeof stored);
      values[i] = to_f32(stored);
    } else {
      std::memcpy(&values[i], tensor->data + i * sizeof(float), sizeof(float));
    }
  }
  const void* data = TRY(uploaded(values.data(), values.size() * sizeof(float)));
  return Array<const float>{static_cast<const float*>(data), count};
}

Result<ops::ExpertMatrices> WeightLoader::expert_matrices(
    const std::vector<io::ExpertMatrix>& experts, int64_t rows, int64_t cols) {
  std::vector<int64_t> addresses;
  for (const io::ExpertMatrix& expert : experts) {
    CHECK_EQ(expert.row_stride, cols);  // what the accepted layouts have
    const auto bytes = static_cast<uint64_t>(rows * cols * size_of(DType::kBf16));
    addresses.push_back(reinterpret_cast<int64_t>(TRY(on_device(expert.data, bytes))));
  }
  const void* table = TRY(uploaded(addresses.data(), addresses.size() * sizeof(int64_t)));
  ops::ExpertMatrices matrices;
  matrices.pointers = {static_cast<const int64_t*>(table), static_cast<int64_t>(addresses.size())};
  matrices.row_stride = cols;
  matrices.experts = static_cast<int64_t>(experts.size());
  matrices.rows = rows;
  matrices.cols = cols;
  return matrices;
}

Status WeightLoader::experts(const std::string& block_prefix, const MoeConfig& moe, int64_t hidden,
                             MoeWeights& weights) {
  io::ExpertQuery query;
  query.prefix = block_prefix;
  query.experts = moe.experts;
  query.intermediate = moe.intermediate;
  query.hidden = hidden;
  query.names = moe.names.experts;
  const io::ExpertWeights found = TRY(io::find_expert_weights(*checkpoint_, query));
  weights.gate = TRY(expert_matrices(found.gate, moe.intermediate, hidden));
  weights.up = TRY(expert_matrices(found.up, moe.intermediate, hidden));
  weights.down = TRY(expert_matrices(found.down, hidden, moe.intermediate));
  return {};
}

}  // namespace moe::model
