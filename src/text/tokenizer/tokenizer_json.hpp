// Reads tokenizer.json in one pass: the two large parts, model.vocab and model.merges, go straight
// into tables, the rest becomes a tree. No shared state.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "moe/result.hpp"
#include "text/tokenizer/bpe.hpp"

namespace moe::text {

struct TokenizerJson {
  Json tree;  // model.vocab and model.merges are empty here
  BpeTables tables;
  bool has_vocab = false;
  bool has_merges = false;
};

inline constexpr size_t kMaxTokenizerBytes = size_t{256} << 20;
inline constexpr int kMaxTokenizerDepth = 64;
// Members of one object outside of model.vocab.
inline constexpr size_t kMaxObjectMembers = 4096;

// Errors: corrupt with the path, what was found and what was wanted.
Result<TokenizerJson> parse_tokenizer_json(std::string_view text, std::string_view source);

}  // namespace moe::text
