#include "io/hf_config.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/errors.hpp"
#include "io/file_map.hpp"
#include "io/quote.hpp"

namespace moe::io {
namespace {

std::optional<StoredType> type_of_torch_name(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  if (name == "bfloat16") return StoredType::kBf16;
  if (name == "float16" || name == "half") return StoredType::kF16;
  if (name == "float32" || name == "float") return StoredType::kF32;
  if (name == "float64" || name == "double") return StoredType::kF64;
  if (name == "float8_e4m3fn") return StoredType::kF8E4M3;
  if (name == "float8_e5m2") return StoredType::kF8E5M2;
  return std::nullopt;
}

}  // namespace

Result<HfConfig> HfConfig::parse(std::string_view text, std::string source) {
  HfConfig config;
  static_cast<ConfigObject&>(config) = TRY(ConfigObject::parse(text, std::move(source)));
  return config;
}

Result<HfConfig> HfConfig::load(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "config.json";
  const std::string text = TRY(read_small_file(path, kMaxConfigBytes));
  return parse(text, path.string());
}

Result<std::string> HfConfig::architecture() const {
  const auto names = TRY(strings("architectures"));
  if (names.empty() || names.front().empty()) {
    return wrong_value("architectures", "a list with the model's class name");
  }
  return names.front();
}

Result<std::optional<StoredType>> HfConfig::dtype() const {
  std::optional<StoredType> type;
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto name = TRY(optional_string(key));
    if (!name) continue;
    const auto found = type_of_torch_name(*name);
    if (!found) {
      return unsupported(
          fmt::format("{} is {}, wanted bfloat16, float16 or float32", where(key), quote(*name)),
          "use a checkpoint in BF16");
    }
    if (type && *type != *found) {
      return corrupt(
          fmt::format("{} is {}, but dtype is {}", where(key), name_of(*found), name_of(*type)),
          "correct one of the two");
    }
    type = found;
  }
  return type;
}

}  // namespace moe::io
