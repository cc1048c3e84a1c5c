// The parts of a Tokenizer as read from tokenizer.json. Internal to this folder; immutable once
// built.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/added_tokens.hpp"
#include "text/tokenizer/bpe.hpp"
#include "text/tokenizer/decoder.hpp"
#include "text/tokenizer/normalizer.hpp"
#include "text/tokenizer/post_processor.hpp"
#include "text/tokenizer/pre_tokenizer.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace moe::text {

struct TokenizerParts {
  std::unique_ptr<const Normalizer> normalizer;       // may be null
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // may be null
  std::optional<Bpe> bpe;                             // always there once built
  PostProcessor post_processor;
  Decoder decoder;

  std::vector<AddedToken> added;  // in the file's order
  std::unordered_map<std::string, size_t> added_by_content;
  std::unordered_map<int32_t, size_t> added_by_id;
  // Of each added token: what the decoder gets for it, and whether skipping special tokens skips
  // it.
  std::vector<std::string> added_text;
  std::vector<bool> added_skipped;
  TokenMatcher raw_tokens;
  TokenMatcher normalized_tokens;
  int32_t vocab_size = 0;

  // The text the decoder gets for an id; nullopt when there is no such token or it is skipped.
  std::optional<std::string_view> text_to_decode(int32_t id, bool skip_special_tokens) const;
};

// Errors: corrupt, unsupported.
Result<TokenizerParts> build_tokenizer_parts(std::string_view text, std::string_view source);

}  // namespace moe::text
