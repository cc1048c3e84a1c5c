#include "model/weights.hpp"

#include "base/errors.hpp"
#include "io/expert_weights.hpp"

namespace moe::model {
WeightLoader::WeightLoader(std::shared_ptr<const io::Checkpoint> checkpoint, Device& device,
                           LoadProgress progress)
    : checkpoint_(std::move(checkpoint)), device_(device), progress_(std::move(progress)) {}

Result<const void*> WeightLoader::on_device(const std::byte* host, uint64_t bytes) {
  bytes_done_ += bytes;
  if (progress_) progress_(bytes_done_, checkpoint_->total_bytes());
  if (device_.reads_host_memory()) return static_cast<const void*>(host);
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

Result<ConstView> WeightLoader::vector(const std::string& name, int64_t cols) {
  const int64_t shape[] = {cols};
  const io::TensorInfo* tensor = TRY(checkpoint_->require(name, io::StoredType::kBf16, shape));
  return ConstView{TRY(on_device(tensor->data, tensor->bytes)), DType::kBf16, 1, cols, cols};
}

}  // namespace moe::model
