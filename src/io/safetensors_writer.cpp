#include "io/safetensors_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/checked_math.hpp"
#include "base/errors.hpp"
#include "base/json.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"

namespace moe::io {
namespace {

constexpr uint64_t kDataAlignment = 64;

Error write_error(const std::filesystem::path& path, int code) {
  return invalid_argument(
      fmt::format("{}: cannot write: {}", path.string(), std::strerror(code)),
      "check that the folder exists, is writable and has space, or choose another path");
}

Status write_at(int descriptor, const std::filesystem::path& path, std::span<const std::byte> data,
                uint64_t offset) {
  while (!data.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, data.data(), data.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return write_error(path, errno);
    if (count == 0) return write_error(path, ENOSPC);
    data = data.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

// JSON string literal; an error for text that is no valid UTF-8.
Result<std::string> json_text(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return invalid_argument(fmt::format("{} is not valid UTF-8", quote(text)),
                            "choose another name");
  }
}

Result<uint64_t> bytes_of(const TensorSpec& spec) {
  std::optional<uint64_t> bytes = static_cast<uint64_t>(size_of(spec.type));
  bool negative = false;
  for (int64_t dimension : spec.shape) {
    negative = negative || dimension < 0;
    if (bytes) bytes = checked_mul(*bytes, static_cast<uint64_t>(dimension));
  }
  if (!bytes || negative || *bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return invalid_argument(fmt::format("tensor {}: shape {} is negative or too large",
                                        quote(spec.name), shape_text(spec.shape)),
                            "give a shape whose size fits 63 bits");
  }
  return *bytes;
}

Status check_specs(const std::vector<TensorSpec>& specs) {
  if (specs.size() > kMaxTensorsPerFile) {
    return invalid_argument(
        fmt::format("{} tensors for one file, the limit is {}", specs.size(), kMaxTensorsPerFile),
        "write several files");
  }
  std::unordered_set<std::string_view> names = {"__metadata__"};
  for (const TensorSpec& spec : specs) {
    if (!names.insert(spec.name).second) {
      return invalid_argument(fmt::format("tensor name {} is taken or reserved", quote(spec.name)),
                              "give each tensor its own name");
    }
    if (spec.name.size() > kMaxTensorNameBytes || spec.shape.size() > kMaxTensorRank) {
      return invalid_argument(
          fmt::format("tensor {}: name of {} bytes and {} dimensions, the limits are {} and {}",
                      quote(spec.name), spec.name.size(), spec.shape.size(), kMaxTensorNameBytes,
                      kMaxTensorRank),
          "choose a shorter name or a flatter shape");
    }
  }
  return {};
}

// Positions in `specs` in the order of the data: larger element types first.
std::vector<size_t> data_order(const std::vector<TensorSpec>& specs) {
  std::vector<size_t> order(specs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-size_of(specs[a].type), a) < std::pair(-size_of(specs[b].type), b);
  });
  return order;
}

Result<std::string> metadata_text(const FileMetadata& metadata) {
  if (metadata.size() > kMaxMetadataEntries) {
    return invalid_argument(
        fmt::format("{} metadata entries, the limit is {}", metadata.size(), kMaxMetadataEntries),
        "give fewer entries");
  }
  std::unordered_set<std::string_view> keys;
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (!keys.insert(key).second) {
      return invalid_argument(fmt::format("metadata key {} is given twice", quote(key)),
                              "give each key once");
    }
    const std::string key_text = TRY(json_text(key));
    const std::string value_text = TRY(json_text(value));
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", key_text, value_text);
  }
  return "\"__metadata__\":{" + text + "}";
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, int descriptor,
                                     std::vector<Slot> slots)
    : path_(std::move(path)),
      partial_path_(path_.string() + ".partial"),
      descriptor_(descriptor),
      slots_(std::move(slots)) {}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)),
      partial_path_(std::move(other.partial_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      slots_(std::move(other.slots_)) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_path_.c_str());
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    std::vector<TensorSpec> specs,
                                                    const FileMetadata& metadata) {
  TRY(check_specs(specs));
  std::string header = "{";
  if (!metadata.empty()) header += TRY(metadata_text(metadata));
  std::vector<Slot> slots(specs.size());
  uint64_t data_bytes = 0;
  for (size_t i : data_order(specs)) {
    const uint64_t bytes = TRY(bytes_of(specs[i]));
    const uint64_t end = data_bytes + bytes;  // both are below 2^63
    if (end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return invalid_argument(fmt::format("{}: tensor data of more than 2^63 bytes", path.string()),
                              "write several files");
    }
    const std::string name = TRY(json_text(specs[i].name));
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                          header.size() > 1 ? "," : "", name, name_of(specs[i].type),
                          shape_text(specs[i].shape), data_bytes, end);
    slots[i] = {specs[i].name, data_bytes, bytes, 0};
    data_bytes = end;
  }
  header += '}';
  header.resize(round_up<uint64_t>(8 + header.size(), kDataAlignment) - 8, ' ');
  if (header.size() > kMaxSafetensorsHeaderBytes) {
    return invalid_argument(fmt::format("{}: header of {} bytes, the limit is {}", path.string(),
                                        header.size(), kMaxSafetensorsHeaderBytes),
                            "write several files");
  }
  for (Slot& slot : slots) slot.begin += 8 + header.size();
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  header.insert(0, length);

  const std::string partial_path = path.string() + ".partial";
  const int descriptor =
      ::open(partial_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return write_error(path, errno);
  SafetensorsWriter writer(path, descriptor, std::move(slots));
  TRY(write_at(descriptor, path, std::as_bytes(std::span(header)), 0));
  return writer;
}

Status SafetensorsWriter::append(size_t tensor, std::span<const std::byte> data) {
  if (tensor >= slots_.size()) {
    return invalid_argument(
        fmt::format("{}: tensor number {} of {}", path_.string(), tensor, slots_.size()),
        "append only to tensors that were declared");
  }
  Slot& slot = slots_[tensor];
  if (data.size() > slot.bytes - slot.filled) {
    return invalid_argument(
        fmt::format("{}: tensor {}: {} bytes after {}, its shape holds {}", path_.string(),
                    quote(slot.name), data.size(), slot.filled, slot.bytes),
        "append as many bytes as the shape holds");
  }
  TRY(write_at(descriptor_, path_, data, slot.begin + slot.filled));
  slot.filled += data.size();
  return {};
}

Status SafetensorsWriter::finish() {
  for (const Slot& slot : slots_) {
    if (slot.filled == slot.bytes) continue;
    return invalid_argument(fmt::format("{}: tensor {}: got {} of {} bytes", path_.string(),
                                        quote(slot.name), slot.filled, slot.bytes),
                            "append all data before finish");
  }
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 || ::rename(partial_path_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(partial_path_.c_str());
    return write_error(path_, code);
  }
  return {};
}

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const FileMetadata& metadata) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) specs.push_back(tensor.spec);
  SafetensorsWriter writer = TRY(SafetensorsWriter::create(path, std::move(specs), metadata));
  for (size_t i = 0; i < tensors.size(); ++i) TRY(writer.append(i, tensors[i].data));
  return writer.finish();
}

Status write_checkpoint(const std::filesystem::path& folder, std::span<const NamedTensor> tensors,
                        int shard_count) {
  const FileMetadata metadata = {{"format", "pt"}};
  if (shard_count <= 1) return write_safetensors(folder / "model.safetensors", tensors, metadata);
  const auto shards = static_cast<size_t>(shard_count);
  std::string weight_map;
  uint64_t total_bytes = 0;
  for (size_t shard = 0; shard < shards; ++shard) {
    const size_t begin = tensors.size() * shard / shards;
    const auto part = tensors.subspan(begin, tensors.size() * (shard + 1) / shards - begin);
    const std::string file =
        fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shard_count);
    TRY(write_safetensors(folder / file, part, metadata));
    for (const NamedTensor& tensor : part) {
      total_bytes += tensor.data.size();
      const std::string name = TRY(json_text(tensor.spec.name));
      weight_map += fmt::format("{}    {}: \"{}\"", weight_map.empty() ? "" : ",\n", name, file);
    }
  }
  const std::string index = fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{\n{}\n"
      "  }}\n}}\n",
      total_bytes, weight_map);
  const std::filesystem::path path = folder / "model.safetensors.index.json";
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return write_error(path, errno);
  const Status written = write_at(descriptor, path, std::as_bytes(std::span(index)), 0);
  if (::close(descriptor) != 0 && written.ok()) return write_error(path, errno);
  return written;
}

}  // namespace moe::io
