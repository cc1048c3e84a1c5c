#include "io/config_object.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/errors.hpp"
#include "io/quote.hpp"

namespace moe::io {
namespace {

constexpr size_t kMaxShownBytes = 60;
constexpr const char* kFix = "correct the value, or restore the file from its source";

// The value as text for a message.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShownBytes) {
    // Cut before a character, never inside one.
    size_t cut = kMaxShownBytes;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    text.resize(cut);
    text += "...";
  }
  return text;
}

// Why a value does not fit: what was wanted instead. Empty when it fits.
std::string read_integer(const Json& value, int64_t min, int64_t max, int64_t& out) {
  const std::string wanted =
      min == ConfigObject::kMinInteger && max == ConfigObject::kMaxInteger
          ? "an integer"
          : (max == ConfigObject::kMaxInteger ? fmt::format("an integer >= {}", min)
                                              : fmt::format("an integer in [{}, {}]", min, max));
  if (!value.is_number_integer()) return wanted;
  if (value.is_number_unsigned() && *value.get_ptr<const Json::number_unsigned_t*>() >
                                        static_cast<uint64_t>(ConfigObject::kMaxInteger)) {
    return wanted;
  }
  out = value.get<int64_t>();
  return out < min || out > max ? wanted : std::string();
}

std::string read_number(const Json& value, double min, double max, double& out) {
  const bool any = min == -ConfigObject::kMaxNumber && max == ConfigObject::kMaxNumber;
  const std::string wanted = any ? "a number" : fmt::format("a number in [{}, {}]", min, max);
  if (!value.is_number()) return wanted;
  out = value.get<double>();
  return out < min || out > max ? wanted : std::string();
}

std::string read_boolean(const Json& value, bool& out) {
  if (!value.is_boolean()) return "true or false";
  out = value.get<bool>();
  return {};
}

std::string read_string(const Json& value, std::string& out) {
  if (!value.is_string()) return "a string";
  out = *value.get_ptr<const Json::string_t*>();
  return {};
}

Error misfit(const std::string& where, const Json& value, std::string_view wanted) {
  return corrupt(fmt::format("{} is {}, wanted {}", where, shown(value), wanted), kFix);
}

}  // namespace

Result<ConfigObject> ConfigObject::parse(std::string_view text, std::string source) {
  if (text.size() > kMaxConfigBytes) {
    return corrupt(fmt::format("{}: has {} bytes, the limit for this file is {}", source,
                               text.size(), kMaxConfigBytes),
                   kFix);
  }
  // The JSON parser takes a NUL for the end of the text, and what follows would go unread.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return corrupt(fmt::format("{}: a zero byte at byte {}", source, nul), kFix);
  }
  ConfigObject object;
  object.source_ = std::move(source);
  object.json_ = TRY(parse_json(text, object.source_,
                                {.max_bytes = kMaxConfigBytes, .max_depth = kMaxConfigDepth}));
  if (!object.json_.is_object()) {
    return corrupt(
        fmt::format("{}: is {}, wanted a JSON object", object.source_, shown(object.json_)), kFix);
  }
  return object;
}

const Json* ConfigObject::find(std::string_view key) const {
  read_.emplace(key);
  const auto at = json_.find(std::string(key));
  return at == json_.end() || at->is_null() ? nullptr : &*at;
}

std::string ConfigObject::where(std::string_view key) const {
  return fmt::format("{}: {}{}", source_, prefix_, key);
}

Error ConfigObject::missing(std::string_view key, std::string_view wanted) const {
  return corrupt(fmt::format("{} is missing, wanted {}", where(key), wanted),
                 "add the key, or restore the file from its source");
}

Error ConfigObject::wrong_value(std::string_view key, std::string_view wanted) const {
  const Json* value = find(key);
  return value == nullptr ? missing(key, wanted) : misfit(where(key), *value, wanted);
}

Result<std::optional<int64_t>> ConfigObject::optional_integer(std::string_view key, int64_t min,
                                                              int64_t max) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  int64_t out = 0;
  const std::string wanted = read_integer(*value, min, max, out);
  if (!wanted.empty()) return misfit(where(key), *value, wanted);
  return std::optional(out);
}

Result<std::optional<double>> ConfigObject::optional_number(std::string_view key, double min,
                                                            double max) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<double>();
  double out = 0;
  const std::string wanted = read_number(*value, min, max, out);
  if (!wanted.empty()) return misfit(where(key), *value, wanted);
  return std::optional(out);
}

Result<std::optional<bool>> ConfigObject::optional_boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  bool out = false;
  const std::string wanted = read_boolean(*value, out);
  if (!wanted.empty()) return misfit(where(key), *value, wanted);
  return std::optional(out);
}

Result<std::optional<std::string>> ConfigObject::optional_string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  std::string out;
  const std::string wanted = read_string(*value, out);
  if (!wanted.empty()) return misfit(where(key), *value, wanted);
  return std::optional(std::move(out));
}

Result<std::optional<ConfigObject>> ConfigObject::optional_object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<ConfigObject>();
  if (!value->is_object()) return misfit(where(key), *value, "an object");
  ConfigObject object;
  object.json_ = *value;
  object.source_ = source_;
  object.prefix_ = fmt::format("{}{}.", prefix_, key);
  return std::optional(std::move(object));
}

Result<int64_t> ConfigObject::integer(std::string_view key, int64_t min, int64_t max) const {
  const auto value = TRY(optional_integer(key, min, max));
  if (!value) return missing(key, "an integer");
  return *value;
}

Result<double> ConfigObject::number(std::string_view key, double min, double max) const {
  const auto value = TRY(optional_number(key, min, max));
  if (!value) return missing(key, "a number");
  return *value;
}

Result<bool> ConfigObject::boolean(std::string_view key) const {
  const auto value = TRY(optional_boolean(key));
  if (!value) return missing(key, "true or false");
  return *value;
}

Result<std::string> ConfigObject::string(std::string_view key) const {
  auto value = TRY(optional_string(key));
  if (!value) return missing(key, "a string");
  return *std::move(value);
}

Result<int64_t> ConfigObject::integer_or(std::string_view key, int64_t fallback, int64_t min,
                                         int64_t max) const {
  return TRY(optional_integer(key, min, max)).value_or(fallback);
}

Result<double> ConfigObject::number_or(std::string_view key, double fallback, double min,
                                       double max) const {
  return TRY(optional_number(key, min, max)).value_or(fallback);
}

Result<bool> ConfigObject::boolean_or(std::string_view key, bool fallback) const {
  return TRY(optional_boolean(key)).value_or(fallback);
}

Result<std::string> ConfigObject::string_or(std::string_view key, std::string_view fallback) const {
  return TRY(optional_string(key)).value_or(std::string(fallback));
}

Result<std::vector<int64_t>> ConfigObject::integers(std::string_view key, int64_t min,
                                                    int64_t max) const {
  std::vector<int64_t> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return misfit(where(key), *value, "an array of integers");
  for (size_t i = 0; i < value->size(); ++i) {
    const std::string wanted = read_integer((*value)[i], min, max, out.emplace_back());
    if (!wanted.empty()) return misfit(fmt::format("{}[{}]", where(key), i), (*value)[i], wanted);
  }
  return out;
}

Result<std::vector<double>> ConfigObject::numbers(std::string_view key) const {
  std::vector<double> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return misfit(where(key), *value, "an array of numbers");
  for (size_t i = 0; i < value->size(); ++i) {
    const std::string wanted =
        read_number((*value)[i], -kMaxNumber, kMaxNumber, out.emplace_back());
    if (!wanted.empty()) return misfit(fmt::format("{}[{}]", where(key), i), (*value)[i], wanted);
  }
  return out;
}

Result<std::vector<std::string>> ConfigObject::strings(std::string_view key) const {
  std::vector<std::string> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return misfit(where(key), *value, "an array of strings");
  for (size_t i = 0; i < value->size(); ++i) {
    const std::string wanted = read_string((*value)[i], out.emplace_back());
    if (!wanted.empty()) return misfit(fmt::format("{}[{}]", where(key), i), (*value)[i], wanted);
  }
  return out;
}

std::vector<std::string> ConfigObject::unread_keys() const {
  std::vector<std::string> keys;
  for (const auto& item : json_.items()) {
    if (!read_.contains(item.key())) keys.push_back(prefix_ + item.key());
  }
  return keys;
}

}  // namespace moe::io
