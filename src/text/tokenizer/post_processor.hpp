// The post-processors of tokenizer.json: they put special tokens around the ids of a text.
// Immutable after construction, may be shared by threads.
#pragma once

#include <cstdint>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"

namespace moe::text {

class PostProcessor {
 public:
  // Does nothing.
  PostProcessor() = default;
  // Errors: corrupt, unsupported (with the type's name and path).
  static Result<PostProcessor> parse(const JsonView& view);

  std::vector<int32_t> apply(std::vector<int32_t> ids, bool add_special_tokens) const;

 private:
  struct Part {
    bool is_text = false;        // the ids of the text
    std::vector<int32_t> added;  // else these
  };

  static Result<std::vector<Part>> parse_template(const JsonView& view);

  std::vector<Part> template_;  // empty: the text alone
  bool has_template_ = false;
};

}  // namespace moe::text
