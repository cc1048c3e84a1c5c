// The pre-tokenizers of tokenizer.json: they split text into the words that BPE works on, and
// ByteLevel and Metaspace also rewrite it. Immutable after construction, may be shared by threads.
#pragma once

#include <memory>
#include <string>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"
#include "text/tokenizer/pieces.hpp"

namespace moe::text {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(Pieces& pieces) const = 0;
  // Whether Piece::at_text_start matters to it.
  virtual bool reads_text_start() const { return false; }
};

// Errors: corrupt, unsupported (with the type's name and path).
Result<std::unique_ptr<const PreTokenizer>> parse_pre_tokenizer(const JsonView& view);

}  // namespace moe::text
