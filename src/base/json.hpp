// JSON text to a value tree with limits, for every file and request that the project reads.
// Key order is kept (chat templates print objects in the order of their source).
// nlohmann's exceptions end here: callers get a Result.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "moe/result.hpp"

namespace moe {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  int max_depth = 64;
};

// Strict RFC 8259; a duplicate key in one object is refused. `source` names the text in errors
// ("config.json"). Errors: corrupt with line/column or key; limits exceeded are corrupt as well.
Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits = {});

}  // namespace moe
