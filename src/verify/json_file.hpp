// Reading a JSON file of an oracle folder.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.hpp"

namespace moe::verify {

// Errors: not_found, or corrupt with path and byte.
Result<Json> read_json_file(const std::filesystem::path& path);
Result<std::string> read_text_file(const std::filesystem::path& path);

// A field of an object that must be there with the given type. Errors: corrupt naming both.
Result<std::string> string_field(const Json& object, const char* key, const std::string& where);

}  // namespace moe::verify
