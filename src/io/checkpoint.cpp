#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/errors.hpp"
#include "io/quote.hpp"
#include "io/shard_index.hpp"

namespace moe::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kRestore = "download the checkpoint again or restore it from its source";

bool is_there(const fs::path& path) {
  std::error_code error;
  // A link to nothing counts, so that opening it names the problem.
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [at, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return at == folder.end();
}

// The index comes with the checkpoint and a link may lead anywhere: shards must lie in the folder,
// or in the blob store beside it where the Hugging Face cache keeps them.
Status check_shard_place(const fs::path& folder, const fs::path& shard) {
  std::error_code error;
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return not_found(fmt::format("{}: {}", folder.string(), error.message()), kRestore);
  const fs::path real_shard = fs::canonical(shard, error);
  if (error) {
    return not_found(fmt::format("{}: the index names this shard, but there is no such file ({})",
                                 shard.string(), error.message()),
                     "download the missing shard into the folder");
  }
  if (lies_in(real_shard, real_folder)) return {};
  const fs::path snapshots = real_folder.parent_path();
  if (snapshots.filename() == "snapshots" &&
      lies_in(real_shard, snapshots.parent_path() / "blobs")) {
    return {};
  }
  return corrupt(fmt::format("{}: shard is a link that leaves the model folder, to {}",
                             shard.string(), real_shard.string()),
                 "put the file itself into the model folder");
}

bool by_name(const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; }

// Moves the tensors of one shard that the index assigns to it to `kept` and marks them in `found`.
Status keep_listed(std::vector<TensorInfo> tensors, const ShardIndex& index, const fs::path& file,
                   std::vector<bool>& found, std::vector<TensorInfo>& kept) {
  for (TensorInfo& tensor : tensors) {
    const auto place = std::lower_bound(
        index.places.begin(), index.places.end(), tensor.name,
        [](const ShardIndex::Place& a, const std::string& name) { return a.tensor < name; });
    if (place == index.places.end() || place->tensor != tensor.name) continue;
    if (place->shard != tensor.shard) {
      return corrupt(
          fmt::format("{}: tensor {} is in this shard, the index says {}", file.string(),
                      quote(tensor.name), index.files[static_cast<size_t>(place->shard)]),
          kRestore);
    }
    found[static_cast<size_t>(place - index.places.begin())] = true;
    kept.push_back(std::move(tensor));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const fs::path& model_dir,
                                                           DataAccess access) {
  std::error_code error;
  const fs::file_status status = fs::status(model_dir, error);
  if (status.type() == fs::file_type::not_found) {
    return not_found(fmt::format("{}: no such folder", model_dir.string()),
                     "give the path of a folder with config.json and model.safetensors");
  }
  if (status.type() != fs::file_type::directory) {
    return invalid_argument(fmt::format("{}: is {}, wanted a model folder", model_dir.string(),
                                        error ? error.message() : std::string("not a folder")),
                            "give the path of a folder with config.json and model.safetensors");
  }
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->folder_ = model_dir;
  if (is_there(model_dir / kSingleName)) {
    TRY(checkpoint->open_single(model_dir / kSingleName, access));
  } else if (is_there(model_dir / kIndexName)) {
    TRY(checkpoint->open_sharded(model_dir / kIndexName, access));
  } else {
    return not_found(
        fmt::format("{}: has neither {} nor {}", model_dir.string(), kSingleName, kIndexName),
        "give a folder with a checkpoint in safetensors format, or convert it to that format");
  }
  std::sort(checkpoint->tensors_.begin(), checkpoint->tensors_.end(), by_name);
  for (const TensorInfo& tensor : checkpoint->tensors_) checkpoint->total_bytes_ += tensor.bytes;
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Status Checkpoint::open_single(const fs::path& path, DataAccess access) {
  files_.push_back(TRY(SafetensorsFile::open(path, 0, access)));
  tensors_ = files_.back().take_tensors();
  return {};
}

Status Checkpoint::open_sharded(const fs::path& index_path, DataAccess access) {
  const std::string text = TRY(read_small_file(index_path, kMaxIndexBytes));
  const ShardIndex index = TRY(parse_shard_index(text, index_path.string()));
  std::vector<bool> found(index.places.size(), false);
  tensors_.reserve(index.places.size());
  for (const std::string& name : index.files) {
    const fs::path path = folder_ / name;
    TRY(check_shard_place(folder_, path));
    files_.push_back(TRY(SafetensorsFile::open(path, static_cast<int>(files_.size()), access)));
    TRY(keep_listed(files_.back().take_tensors(), index, path, found, tensors_));
  }
  const auto missing = std::find(found.begin(), found.end(), false);
  if (missing == found.end()) return {};
  const auto& place = index.places[static_cast<size_t>(missing - found.begin())];
  return corrupt(fmt::format("{}: tensor {} is listed in shard {}, which does not hold it",
                             index_path.string(), quote(place.tensor),
                             index.files[static_cast<size_t>(place.shard)]),
                 kRestore);
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorInfo& a, std::string_view wanted) { return a.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

std::span<const TensorInfo> Checkpoint::tensors_under(std::string_view prefix) const {
  const auto begin = std::lower_bound(
      tensors_.begin(), tensors_.end(), prefix,
      [](const TensorInfo& a, std::string_view wanted) { return a.name < wanted; });
  const auto end = std::partition_point(
      begin, tensors_.end(), [&](const TensorInfo& a) { return a.name.starts_with(prefix); });
  return {begin, end};
}

Result<const TensorInfo*> Checkpoint::require(std::string_view name, StoredType type,
                                              std::span<const int64_t> shape) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    return not_found(
        fmt::format("{}: the checkpoint has no tensor {} (wanted {} {})", folder_.string(),
                    quote(name), name_of(type), shape_text(shape)),
        "check that config.json belongs to these weights and that no shard is missing");
  }
  if (tensor->type != type) {
    return unsupported(
        fmt::format("{}: tensor {} has type {}, wanted {}", file_of(*tensor).string(), quote(name),
                    name_of(tensor->type), name_of(type)),
        fmt::format("use a checkpoint whose weights are in {}", name_of(type)));
  }
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    return corrupt(fmt::format("{}: tensor {} has shape {}, wanted {}", file_of(*tensor).string(),
                               quote(name), shape_text(tensor->shape), shape_text(shape)),
                   "check that config.json belongs to these weights");
  }
  return tensor;
}

const fs::path& Checkpoint::file_of(const TensorInfo& tensor) const {
  return files_[static_cast<size_t>(tensor.shard)].path();
}

}  // namespace moe::io
