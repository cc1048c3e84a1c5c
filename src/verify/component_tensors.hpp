// Tensors of a component file with the type and shape that a case calls for. The file stays open
// as long as the object; spans point into it. Any thread.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "io/safetensors.hpp"
#include "moe/result.hpp"
#include "tensor/dtype.hpp"

namespace moe::verify {

class ComponentFile {
 public:
  // Errors: as SafetensorsFile::open.
  static Result<ComponentFile> open(const std::filesystem::path& path);

  // Errors: corrupt with tensor, got and wanted when absent, of another type or shape.
  Result<std::span<const Bf16>> bf16(const std::string& name,
                                     std::initializer_list<int64_t> shape) const;
  Result<std::span<const float>> f32(const std::string& name,
                                     std::initializer_list<int64_t> shape) const;
  Result<std::span<const int32_t>> i32(const std::string& name,
                                       std::initializer_list<int64_t> shape) const;
  Result<std::span<const int64_t>> i64(const std::string& name,
                                       std::initializer_list<int64_t> shape) const;
  // The length of a one-dimensional tensor.
  Result<int64_t> length(const std::string& name) const;

 private:
  explicit ComponentFile(io::SafetensorsFile file) : file_(std::move(file)) {}
  Result<const io::TensorInfo*> find(const std::string& name) const;
  template <class T>
  Result<std::span<const T>> typed(const std::string& name, io::StoredType type,
                                   std::initializer_list<int64_t> shape) const;

  io::SafetensorsFile file_;
};

}  // namespace moe::verify
