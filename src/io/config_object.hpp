// Typed access to one JSON object of a configuration file. Each accessor checks type and range and
// names file, key, got and wanted when they do not fit. A key with the value null counts as absent.
// Reading a key is remembered, so that a model can refuse fields that it does not know.
// One thread at a time: reading changes what unread_keys() returns.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "moe/result.hpp"

namespace moe::io {

inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
inline constexpr int kMaxConfigDepth = 32;

class ConfigObject {
 public:
  static constexpr int64_t kMinInteger = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxInteger = std::numeric_limits<int64_t>::max();
  static constexpr double kMaxNumber = std::numeric_limits<double>::max();

  // An empty object.
  ConfigObject() = default;
  // `source` is the file's name in errors. Text that is no JSON object is corrupt.
  static Result<ConfigObject> parse(std::string_view text, std::string source);

  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }

  // Present and not null.
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Required: an absent key is corrupt. Ranges include both ends.
  Result<int64_t> integer(std::string_view key, int64_t min = kMinInteger,
                          int64_t max = kMaxInteger) const;
  Result<double> number(std::string_view key, double min = -kMaxNumber,
                        double max = kMaxNumber) const;  // an integer is a number, too
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;

  // With a default for an absent key; the default need not lie in the range.
  Result<int64_t> integer_or(std::string_view key, int64_t fallback, int64_t min = kMinInteger,
                             int64_t max = kMaxInteger) const;
  Result<double> number_or(std::string_view key, double fallback, double min = -kMaxNumber,
                           double max = kMaxNumber) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;

  // Absent gives nothing.
  Result<std::optional<int64_t>> optional_integer(std::string_view key, int64_t min = kMinInteger,
                                                  int64_t max = kMaxInteger) const;
  Result<std::optional<double>> optional_number(std::string_view key, double min = -kMaxNumber,
                                                double max = kMaxNumber) const;
  Result<std::optional<bool>> optional_boolean(std::string_view key) const;
  Result<std::optional<std::string>> optional_string(std::string_view key) const;
  Result<std::optional<ConfigObject>> optional_object(std::string_view key) const;

  // Arrays; absent gives an empty one.
  Result<std::vector<int64_t>> integers(std::string_view key, int64_t min = kMinInteger,
                                        int64_t max = kMaxInteger) const;
  Result<std::vector<double>> numbers(std::string_view key) const;
  Result<std::vector<std::string>> strings(std::string_view key) const;

  // Keys that no accessor was asked for, in file order; with the path of a nested object.
  std::vector<std::string> unread_keys() const;
  // Marks a key as known without reading it.
  void ignore(std::string_view key) const { read_.emplace(key); }

  // "config.json: rope_scaling.factor", for messages about a key.
  std::string where(std::string_view key) const;
  // The error for a value that has the right type and still cannot be; `got` is what was there.
  Error wrong_value(std::string_view key, std::string_view wanted) const;

 private:
  const Json* find(std::string_view key) const;  // null for absent; marks as read
  Error missing(std::string_view key, std::string_view wanted) const;

  Json json_ = Json::object();
  std::string source_;
  std::string prefix_;  // "rope_scaling." in a nested object
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace moe::io
