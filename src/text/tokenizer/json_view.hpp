// A value inside tokenizer.json together with its path, so that every complaint names the place.
// Refers to a tree owned by the caller. No shared state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "moe/result.hpp"

namespace moe::text {

// The largest token id accepted; bounds the tables indexed by id.
inline constexpr int64_t kMaxTokenId = (int64_t{1} << 24) - 1;

class JsonView {
 public:
  JsonView(const Json& value, std::string_view source, std::string path)
      : value_(&value), source_(source), path_(std::move(path)) {}

  bool is_null() const { return value_->is_null(); }
  bool is_array() const { return value_->is_array(); }
  bool is_string() const { return value_->is_string(); }
  const std::string& path() const { return path_; }
  std::string_view source() const { return source_; }

  // A member that may be absent or null (both nullopt). Errors: this value is not an object.
  Result<std::optional<JsonView>> find(std::string_view key) const;
  // A member that must be there.
  Result<JsonView> member(std::string_view key) const;
  Result<std::vector<JsonView>> elements() const;
  Result<std::vector<std::pair<std::string, JsonView>>> members() const;

  Result<std::string_view> string() const;  // within the tree
  Result<bool> boolean() const;
  std::optional<double> number() const;  // nullopt when it is none
  Result<int64_t> integer(int64_t least, int64_t most) const;

  Result<std::string_view> string_at(std::string_view key) const;
  Result<bool> boolean_at(std::string_view key, std::optional<bool> fallback) const;
  Result<int64_t> integer_at(std::string_view key, int64_t least, int64_t most) const;
  // A string of exactly one code point.
  Result<std::string_view> character_at(std::string_view key) const;

  // corrupt: "<source>: <path>: got <got>, wanted <wanted>".
  Error wrong(std::string_view wanted) const;
  Error wrong(std::string_view got, std::string_view wanted) const;
  Error not_supported(std::string_view construct) const;

 private:
  const Json* value_;
  std::string_view source_;
  std::string path_;
};

}  // namespace moe::text
