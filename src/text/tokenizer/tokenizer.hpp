// Text to token ids and back, as described by a Hugging Face tokenizer.json with a BPE model. The
// ids and the decoded text equal those of the `tokenizers` library; what this build cannot do the
// same way is refused when the file is read. A Tokenizer is immutable and shared by threads; a
// Detokenizer belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"

namespace moe::text {

// Longest text of one encode call.
inline constexpr size_t kMaxEncodeBytes = size_t{64} << 20;

enum class SpecialTokens {
  kParse,
  kPlainText,  // text that reads like a special token stays text
};

// Part of a prompt, such as trusted template text or what a user wrote.
struct Segment {
  std::string_view text;
  SpecialTokens specials;
};

// A text cut out of the input before the model sees it; see the `tokenizers` library.
struct AddedToken {
  int32_t id;
  std::string content;
  bool special, lstrip, rstrip, single_word, normalized;
};

class Tokenizer {
 public:
  // `text` is a whole tokenizer.json, `source` its name in errors.
  // Errors: corrupt (path, got, wanted), unsupported (construct and path).
  static Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view text,
                                                            std::string_view source);
  // Reads tokenizer.json in `model_dir`. Errors: not_found, and those of from_json.
  static Result<std::shared_ptr<const Tokenizer>> load(const std::filesystem::path& model_dir);

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Text -> ids. `add_special_tokens` lets the post-processor put its tokens around the text.
  // Errors: invalid_argument (invalid UTF-8, above kMaxEncodeBytes), unsupported (the text needs
  // more steps of a regular expression than its limit), corrupt (unk_token is needed but unknown).
  Result<std::vector<int32_t>> encode(std::string_view utf8, bool add_special_tokens,
                                      SpecialTokens specials = SpecialTokens::kParse) const;

  // The ids of all segments joined to one text, where a special token is only recognised if it lies
  // wholly in kParse segments. Equals encode() of the joined text when no special token touches a
  // kPlainText segment.
  Result<std::vector<int32_t>> encode_segments(std::span<const Segment> segments,
                                               bool add_special_tokens) const;

  // Ids -> text: the decoder chain, then invalid UTF-8 replaced. Ids without a token give no text.
  // Errors: invalid_argument for negative ids.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  int32_t vocab_size() const;  // highest id + 1
  std::optional<int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string_view> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;
  std::span<const AddedToken> added_tokens() const;

 private:
  friend class Detokenizer;
  struct State;
  explicit Tokenizer(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

// Ids to text as they come. All pieces and finish() together equal decode() of all ids; each piece
// is valid UTF-8. What later ids may still change is held back. Amortised O(1) for a token.
class Detokenizer {
 public:
  Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special_tokens);
  Detokenizer(Detokenizer&&) noexcept;
  Detokenizer& operator=(Detokenizer&&) noexcept;
  ~Detokenizer();

  // The text that is certain with this id, often empty. Errors: as decode().
  Result<std::string> push(int32_t id);
  // The rest. The next push begins a new text.
  std::string finish();

 private:
  class Stream;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<Stream> stream_;
  bool skip_special_tokens_;
};

}  // namespace moe::text
