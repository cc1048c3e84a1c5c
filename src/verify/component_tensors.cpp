#include "verify/component_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.hpp"

namespace moe::verify {
namespace {

constexpr const char* kFix = "copy the oracle folder again, or correct cases.json";

}  // namespace

Result<ComponentFile> ComponentFile::open(const std::filesystem::path& path) {
  return ComponentFile(TRY(io::SafetensorsFile::open(path)));
}

Result<const io::TensorInfo*> ComponentFile::find(const std::string& name) const {
  const io::TensorInfo* tensor = file_.find(name);
  if (tensor != nullptr) return tensor;
  return corrupt(fmt::format("{}: tensor \"{}\" is not there", file_.path().string(), name), kFix);
}

template <class T>
Result<std::span<const T>> ComponentFile::typed(const std::string& name, io::StoredType type,
                                                std::initializer_list<int64_t> shape) const {
  const io::TensorInfo* tensor = TRY(find(name));
  if (tensor->type != type || !std::ranges::equal(tensor->shape, shape)) {
    return corrupt(
        fmt::format("{}: tensor \"{}\" is {} [{}], wanted {} [{}]", file_.path().string(), name,
                    io::name_of(tensor->type), fmt::join(tensor->shape, ", "), io::name_of(type),
                    fmt::join(shape, ", ")),
        kFix);
  }
  return std::span(reinterpret_cast<const T*>(tensor->data), tensor->bytes / sizeof(T));
}

Result<std::span<const Bf16>> ComponentFile::bf16(const std::string& name,
                                                  std::initializer_list<int64_t> shape) const {
  return typed<Bf16>(name, io::StoredType::kBf16, shape);
}
Result<std::span<const float>> ComponentFile::f32(const std::string& name,
                                                  std::initializer_list<int64_t> shape) const {
  return typed<float>(name, io::StoredType::kF32, shape);
}
Result<std::span<const int32_t>> ComponentFile::i32(const std::string& name,
                                                    std::initializer_list<int64_t> shape) const {
  return typed<int32_t>(name, io::StoredType::kI32, shape);
}
Result<std::span<const int64_t>> ComponentFile::i64(const std::string& name,
                                                    std::initializer_list<int64_t> shape) const {
  return typed<int64_t>(name, io::StoredType::kI64, shape);
}

Result<int64_t> ComponentFile::length(const std::string& name) const {
  const io::TensorInfo* tensor = TRY(find(name));
  if (tensor->shape.size() == 1) return tensor->shape[0];
  return corrupt(fmt::format("{}: tensor \"{}\" has {} dimensions, wanted 1", file_.path().string(),
                             name, tensor->shape.size()),
                 kFix);
}

}  // namespace moe::verify
