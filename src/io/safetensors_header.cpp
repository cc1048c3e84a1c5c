// parse_safetensors: header events to a tensor table, then the rules that span tensors (unique
// names, data areas that tile the file).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "base/checked_math.hpp"
#include "base/errors.hpp"
#include "io/json_events.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"

namespace moe::io {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr const char* kRestore = "download the file again or restore it from its source";
constexpr std::string_view kMetadataName = "__metadata__";

// Names that the format has and the engine has no use for.
constexpr std::array<std::string_view, 6> kForeignTypes = {"F8_E8M0", "F6_E2M3", "F6_E3M2",
                                                           "F4",      "C64",     "F8_E4M3FNUZ"};

// A tensor as the header states it. Offsets count from the begin of the data area.
struct Entry {
  std::string name;
  std::optional<StoredType> type;
  std::optional<std::vector<int64_t>> shape;
  std::vector<uint64_t> offsets;
  bool has_offsets = false;
};

class HeaderEvents final : public JsonEvents {
 public:
  HeaderEvents(std::string_view source, const SafetensorsLimits& limits)
      : source_(source), limits_(limits) {}

  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

  bool key(std::string& name) override {
    switch (place_) {
      case Place::kRoot:
        return root_key(name);
      case Place::kMetadata:
        if (metadata.size() == limits_.metadata_entries) {
          return broken(fmt::format("more than {} metadata entries", limits_.metadata_entries));
        }
        metadata.emplace_back(std::move(name), std::string());
        return true;
      case Place::kTensor:
        return tensor_key(name);
      default:
        return unexpected("a key");
    }
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      metadata.back().second = std::move(value);
      return true;
    }
    if (place_ != Place::kTensor || field_ != Field::kType) return unexpected("a string");
    entry().type = stored_type_of(value);
    if (entry().type) return true;
    const std::string message = at(fmt::format("dtype {} is not handled", quote(value)));
    if (std::find(kForeignTypes.begin(), kForeignTypes.end(), value) != kForeignTypes.end()) {
      return fail(unsupported(message, "use a checkpoint in BF16"));
    }
    return broken(fmt::format("unknown dtype {}, wanted BF16, F32 or another type of the format",
                              quote(value)));
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape) {
      if (entry().shape->size() == limits_.rank) {
        return broken(fmt::format("shape has more than {} dimensions", limits_.rank));
      }
      if (value > static_cast<uint64_t>(INT64_MAX)) {
        return broken(fmt::format("dimension {} is larger than {}", value, INT64_MAX));
      }
      entry().shape->push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place_ != Place::kOffsets) return unexpected("a number");
    if (entry().offsets.size() == 2) {
      return broken("data_offsets has more than 2 numbers, wanted [begin, end]");
    }
    entry().offsets.push_back(value);
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kRoot;
      return true;
    }
    if (place_ != Place::kRoot) return unexpected("an object");
    place_ = in_metadata_ ? Place::kMetadata : Place::kTensor;
    field_ = Field::kNone;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor && !entry_is_complete()) return false;
    place_ = place_ == Place::kRoot ? Place::kDone : Place::kRoot;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || field_ == Field::kType) return unexpected("an array");
    if (field_ == Field::kShape) {
      entry().shape.emplace();
      place_ = Place::kShape;
    } else {
      entry().has_offsets = true;
      place_ = Place::kOffsets;
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

 protected:
  bool unexpected(const char* got) override {
    return broken(fmt::format("{} is {}, wanted {}", place_name(), got, wanted()));
  }

  Error syntax_error(size_t position, std::string_view what) override {
    return corrupt(fmt::format("{}: header is no valid JSON at file offset {}: {}", source_,
                               kLengthBytes + position, what),
                   kRestore);
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kDone };
  enum class Field { kNone, kType, kShape, kOffsets };

  Entry& entry() { return entries.back(); }

  bool root_key(std::string& name) {
    in_metadata_ = name == kMetadataName;
    if (in_metadata_) {
      if (seen_metadata_) return broken("duplicate key \"__metadata__\"");
      seen_metadata_ = true;
      return true;
    }
    if (name.size() > limits_.name_bytes) {
      return broken(fmt::format("tensor name {} has {} bytes, the limit is {}", quote(name),
                                name.size(), limits_.name_bytes));
    }
    if (entries.size() == limits_.tensors) {
      return broken(fmt::format("more than {} tensors", limits_.tensors));
    }
    entries.emplace_back().name = std::move(name);
    return true;
  }

  bool tensor_key(const std::string& name) {
    if (name == "dtype") {
      field_ = Field::kType;
      if (entry().type) return broken("duplicate key \"dtype\"");
    } else if (name == "shape") {
      field_ = Field::kShape;
      if (entry().shape) return broken("duplicate key \"shape\"");
    } else if (name == "data_offsets") {
      field_ = Field::kOffsets;
      if (entry().has_offsets) return broken("duplicate key \"data_offsets\"");
    } else {
      return broken(
          fmt::format("unknown key {}, wanted dtype, shape and data_offsets", quote(name)));
    }
    return true;
  }

  bool entry_is_complete() {
    if (!entry().type) return broken("has no dtype");
    if (!entry().shape) return broken("has no shape");
    if (!entry().has_offsets) return broken("has no data_offsets");
    if (entry().offsets.size() != 2) {
      return broken(
          fmt::format("data_offsets has {} numbers, wanted [begin, end]", entry().offsets.size()));
    }
    return true;
  }

  std::string place_name() const {
    switch (place_) {
      case Place::kStart:
        return "header";
      case Place::kRoot:
        return in_metadata_ ? "__metadata__" : "entry";
      case Place::kMetadata:
        return fmt::format("value of {}", quote(metadata.back().first));
      case Place::kTensor:
        if (field_ == Field::kType) return "dtype";
        return field_ == Field::kShape ? "shape" : "data_offsets";
      case Place::kShape:
        return "element of shape";
      case Place::kOffsets:
        return "element of data_offsets";
      case Place::kDone:
        return "text after the header";
    }
    return "?";
  }

  const char* wanted() const {
    switch (place_) {
      case Place::kStart:
      case Place::kRoot:
        return "an object";
      case Place::kMetadata:
        return "a string";
      case Place::kTensor:
        return field_ == Field::kType ? "a string" : "an array";
      case Place::kShape:
      case Place::kOffsets:
        return "a non-negative integer";
      case Place::kDone:
        return "nothing";
    }
    return "?";
  }

  // "file: header at file offset 93: tensor "x": what"
  std::string at(std::string_view what) const {
    std::string where =
        fmt::format("{}: header at file offset {}: ", source_, kLengthBytes + offset());
    const bool in_tensor = place_ == Place::kTensor || place_ == Place::kShape ||
                           place_ == Place::kOffsets ||
                           (place_ == Place::kRoot && !in_metadata_ && !entries.empty());
    if (in_tensor) where += fmt::format("tensor {}: ", quote(entries.back().name));
    if (place_ == Place::kMetadata) where += "__metadata__: ";
    return where + std::string(what);
  }

  bool broken(std::string_view what) { return fail(corrupt(at(what), kRestore)); }

  std::string_view source_;
  const SafetensorsLimits& limits_;
  Place place_ = Place::kStart;
  Field field_ = Field::kNone;
  bool in_metadata_ = false;
  bool seen_metadata_ = false;
};

// Bytes of the tensor that type and shape ask for. Zero dimensions count as one in the checked
// product, so that no later product over a part of the shape can overflow.
Result<uint64_t> wanted_bytes(const Entry& entry, std::string_view source) {
  std::optional<uint64_t> bytes = static_cast<uint64_t>(size_of(*entry.type));
  bool empty = false;
  for (int64_t dimension : *entry.shape) {
    empty = empty || dimension == 0;
    if (bytes) bytes = checked_mul(*bytes, static_cast<uint64_t>(std::max<int64_t>(dimension, 1)));
  }
  if (!bytes || *bytes > static_cast<uint64_t>(INT64_MAX)) {
    return corrupt(fmt::format("{}: tensor {}: shape {} overflows 63 bits of size", source,
                               quote(entry.name), shape_text(*entry.shape)),
                   kRestore);
  }
  return empty ? 0 : *bytes;
}

struct DataArea {
  const std::byte* begin;
  uint64_t file_offset;
  uint64_t size;
};

Result<TensorInfo> tensor_of(Entry&& entry, const DataArea& area, std::string_view source,
                             int shard) {
  const uint64_t begin = entry.offsets[0];
  const uint64_t end = entry.offsets[1];
  if (begin > end || end > area.size) {
    const char* problem =
        begin > end ? "begin after their end" : "end past the file's data: the file is truncated";
    return corrupt(
        fmt::format("{}: tensor {}: data_offsets [{}, {}) {} (data area of {} bytes "
                    "from file offset {})",
                    source, quote(entry.name), begin, end, problem, area.size, area.file_offset),
        kRestore);
  }
  const uint64_t bytes = TRY(wanted_bytes(entry, source));
  if (bytes != end - begin) {
    return corrupt(
        fmt::format("{}: tensor {}: data_offsets [{}, {}) hold {} bytes, wanted {} for "
                    "{} {} (file offset {})",
                    source, quote(entry.name), begin, end, end - begin, bytes, name_of(*entry.type),
                    shape_text(*entry.shape), area.file_offset + begin),
        kRestore);
  }
  TensorInfo tensor;
  tensor.data = area.begin + begin;
  tensor.aligned =
      reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(size_of(*entry.type)) == 0;
  tensor.name = std::move(entry.name);
  tensor.type = *entry.type;
  tensor.shape = *std::move(entry.shape);
  tensor.bytes = bytes;
  tensor.shard = shard;
  return tensor;
}

// Sorts by data and checks that the tensors tile the data area: no overlap, no gap, no rest.
Status check_tiling(std::vector<TensorInfo>& tensors, const DataArea& area,
                    std::string_view source) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.data, a.bytes, a.name) < std::tie(b.data, b.bytes, b.name);
  });
  uint64_t covered = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto begin = static_cast<uint64_t>(tensors[i].data - area.begin);
    if (begin < covered) {
      return corrupt(fmt::format("{}: tensor {}: data at file offset {} overlaps tensor {}, which "
                                 "ends at {}",
                                 source, quote(tensors[i].name), area.file_offset + begin,
                                 quote(tensors[i - 1].name), area.file_offset + covered),
                     kRestore);
    }
    if (begin > covered) {
      return corrupt(fmt::format("{}: tensor {}: data begins at file offset {}, which leaves a gap "
                                 "of {} bytes after {}",
                                 source, quote(tensors[i].name), area.file_offset + begin,
                                 begin - covered, area.file_offset + covered),
                     kRestore);
    }
    covered = begin + tensors[i].bytes;
  }
  if (covered == area.size) return {};
  return corrupt(fmt::format("{}: {} bytes from file offset {} belong to no tensor", source,
                             area.size - covered, area.file_offset + covered),
                 kRestore);
}

template <class NameAt>
std::vector<uint32_t> sorted_by_name(size_t count, NameAt name_at) {
  std::vector<uint32_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return name_at(a) < name_at(b); });
  return order;
}

template <class NameAt>
Status check_unique(const std::vector<uint32_t>& order, NameAt name_at, std::string_view what,
                    std::string_view source) {
  for (size_t i = 1; i < order.size(); ++i) {
    if (name_at(order[i - 1]) != name_at(order[i])) continue;
    return corrupt(
        fmt::format("{}: header: duplicate {} {}", source, what, quote(name_at(order[i]))),
        kRestore);
  }
  return {};
}

// The JSON text of the header: bounds and outer form.
Result<std::string_view> header_text(std::span<const std::byte> image, std::string_view source,
                                     uint64_t max_bytes) {
  const std::string_view file(reinterpret_cast<const char*>(image.data()), image.size());
  if (file.starts_with("version https://git-lfs")) {
    return corrupt(fmt::format("{}: is a Git LFS pointer, not the file itself", source),
                   "run `git lfs pull` in the checkpoint's folder");
  }
  if (file.size() < kLengthBytes) {
    return corrupt(fmt::format("{}: has {} bytes, wanted at least {} for the header length", source,
                               file.size(), kLengthBytes),
                   kRestore);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(image[i]) << (8 * i);
  }
  if (length > max_bytes) {
    return corrupt(fmt::format("{}: header length at file offset 0 is {}, the limit is {}", source,
                               length, max_bytes),
                   "check that this is a safetensors file; download it again");
  }
  if (length > file.size() - kLengthBytes) {
    return corrupt(fmt::format("{}: header length at file offset 0 is {}, but {} bytes follow: the "
                               "file is truncated",
                               source, length, file.size() - kLengthBytes),
                   kRestore);
  }
  std::string_view text = file.substr(kLengthBytes, length);
  if (!text.starts_with('{')) {
    return corrupt(fmt::format("{}: header at file offset {} begins with {}, wanted '{{'", source,
                               kLengthBytes, quote(text.substr(0, 1))),
                   kRestore);
  }
  // The text starts with '{', so there is a last byte that is no space.
  const size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') {
    return corrupt(fmt::format("{}: header ends with {} at file offset {}, wanted '}}' and only "
                               "spaces after it",
                               source, quote(text.substr(last, 1)), kLengthBytes + last),
                   kRestore);
  }
  return text;
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> image,
                                            std::string_view source, int shard,
                                            const SafetensorsLimits& limits) {
  const std::string_view text = TRY(header_text(image, source, limits.header_bytes));
  HeaderEvents events(source, limits);
  TRY(events.read(text));

  SafetensorsHeader header;
  header.data_begin = kLengthBytes + text.size();
  header.metadata = std::move(events.metadata);
  const auto key_at = [&](uint32_t i) -> const std::string& { return header.metadata[i].first; };
  TRY(check_unique(sorted_by_name(header.metadata.size(), key_at), key_at, "metadata key", source));

  const DataArea area{image.data() + header.data_begin, header.data_begin,
                      image.size() - header.data_begin};
  header.tensors.reserve(events.entries.size());
  for (Entry& entry : events.entries) {
    header.tensors.push_back(TRY(tensor_of(std::move(entry), area, source, shard)));
  }
  const auto name_at = [&](uint32_t i) -> const std::string& { return header.tensors[i].name; };
  TRY(check_unique(sorted_by_name(header.tensors.size(), name_at), name_at, "tensor", source));
  TRY(check_tiling(header.tensors, area, source));
  header.by_name = sorted_by_name(header.tensors.size(), name_at);
  return header;
}

}  // namespace moe::io
