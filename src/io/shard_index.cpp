#include "io/shard_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.hpp"
#include "io/json_events.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"

namespace moe::io {
namespace {

constexpr const char* kRestore = "download the index again or restore it from its source";
constexpr size_t kMaxFileNameBytes = 255;
constexpr int kMaxIndexDepth = 64;

bool is_plain_file_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.size() > kMaxFileNameBytes) return false;
  return name.find('/') == std::string_view::npos && name.find('\\') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

class IndexEvents final : public JsonEvents {
 public:
  IndexEvents(std::string_view source, const ShardIndexLimits& limits)
      : source_(source), limits_(limits) {}

  std::vector<ShardIndex::Place> places;
  std::map<std::string, int, std::less<>> shards;  // numbered in order of appearance
  bool seen_map = false;

  bool null() override { return skipped("null"); }
  bool boolean(bool) override { return skipped("a boolean"); }
  bool number_integer(int64_t) override { return skipped("a number"); }
  bool number_unsigned(uint64_t) override { return skipped("a number"); }
  bool number_float(double, const std::string&) override { return skipped("a number"); }
  bool start_array(size_t) override {
    if (depth_ == 0 || in_map()) return unexpected("an array");
    return enter();
  }
  bool end_array() override { return leave(); }

  bool start_object(size_t) override {
    if (in_map() && depth_ == 2) return unexpected("an object");
    return enter();
  }
  bool end_object() override { return leave(); }

  bool key(std::string& name) override {
    if (depth_ == 1) {
      map_is_next_ = name == "weight_map";
      if (!map_is_next_) return true;
      if (seen_map) return broken("duplicate key \"weight_map\"");
      seen_map = true;
      return true;
    }
    if (!in_map()) return true;
    if (places.size() == limits_.tensors) {
      return broken(fmt::format("more than {} tensors", limits_.tensors));
    }
    if (name.size() > kMaxTensorNameBytes) {
      return broken(fmt::format("tensor name {} has {} bytes, the limit is {}", quote(name),
                                name.size(), kMaxTensorNameBytes));
    }
    places.push_back({std::move(name), 0});
    return true;
  }

  bool string(std::string& value) override {
    if (!in_map() || depth_ != 2) return skipped("a string");
    const std::string& tensor = places.back().tensor;
    if (!is_plain_file_name(value)) {
      return broken(
          fmt::format("tensor {}: shard {} is not a plain file name", quote(tensor), quote(value)));
    }
    const auto [shard, added] = shards.try_emplace(value, static_cast<int>(shards.size()));
    if (added && shards.size() > limits_.shards) {
      return broken(fmt::format("more than {} shards", limits_.shards));
    }
    places.back().shard = shard->second;
    return true;
  }

 protected:
  bool unexpected(const char* got) override {
    if (depth_ == 0) return broken(fmt::format("text is {}, wanted an object", got));
    if (in_map() && depth_ == 2) {
      return broken(fmt::format("tensor {}: shard is {}, wanted a file name",
                                quote(places.back().tensor), got));
    }
    return broken(fmt::format("weight_map is {}, wanted an object", got));
  }
  Error syntax_error(size_t position, std::string_view what) override {
    return corrupt(fmt::format("{}: no valid JSON at byte {}: {}", source_, position, what),
                   kRestore);
  }

 private:
  // At the map's key or anywhere inside its value.
  bool in_map() const { return map_is_next_ && depth_ >= 1; }
  bool skipped(const char* got) { return depth_ == 0 || in_map() ? unexpected(got) : true; }
  bool enter() {
    if (++depth_ <= kMaxIndexDepth) return true;
    return broken(fmt::format("nesting is deeper than {}", kMaxIndexDepth));
  }
  bool leave() {
    if (--depth_ == 1) map_is_next_ = false;
    return true;
  }
  bool broken(std::string_view what) {
    return fail(corrupt(fmt::format("{}: at byte {}: {}", source_, offset(), what), kRestore));
  }

  std::string_view source_;
  const ShardIndexLimits& limits_;
  int depth_ = 0;
  bool map_is_next_ = false;
};

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view text, std::string_view source,
                                     const ShardIndexLimits& limits) {
  IndexEvents events(source, limits);
  TRY(events.read(text));
  if (!events.seen_map || events.places.empty()) {
    return corrupt(fmt::format("{}: weight_map is {}, wanted an object that names a shard for each "
                               "tensor",
                               source, events.seen_map ? "empty" : "missing"),
                   kRestore);
  }
  ShardIndex index;
  std::vector<int> sorted_number(events.shards.size());
  for (const auto& [file, number] : events.shards) {
    sorted_number[static_cast<size_t>(number)] = static_cast<int>(index.files.size());
    index.files.push_back(file);
  }
  index.places = std::move(events.places);
  for (auto& place : index.places) place.shard = sorted_number[static_cast<size_t>(place.shard)];
  std::sort(index.places.begin(), index.places.end(),
            [](const auto& a, const auto& b) { return a.tensor < b.tensor; });
  for (size_t i = 1; i < index.places.size(); ++i) {
    if (index.places[i - 1].tensor != index.places[i].tensor) continue;
    return corrupt(
        fmt::format("{}: duplicate tensor {} in weight_map", source, quote(index.places[i].tensor)),
        kRestore);
  }
  return index;
}

}  // namespace moe::io
