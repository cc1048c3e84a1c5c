#include "verify/json_file.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "io/file_map.hpp"

namespace moe::verify {

Result<std::string> read_text_file(const std::filesystem::path& path) {
  const auto map = TRY(io::FileMap::open(path));
  return std::string(reinterpret_cast<const char*>(map->bytes().data()), map->bytes().size());
}

Result<Json> read_json_file(const std::filesystem::path& path) {
  return parse_json(TRY(read_text_file(path)), path.string());
}

Result<std::string> string_field(const Json& object, const char* key, const std::string& where) {
  if (object.is_object()) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string()) return found->get<std::string>();
  }
  return corrupt(fmt::format("{}: wanted a string \"{}\"", where, key),
                 "restore the oracle folder from its source");
}

}  // namespace moe::verify
