#include "text/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/errors.hpp"
#include "text/tokenizer/tokenizer_json.hpp"
#include "text/tokenizer/tokenizer_state.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

// Words of one text that were encoded before; their ids are looked up in the ids made so far.
class WordCache {
 public:
  explicit WordCache(size_t word_count) {
    if (word_count >= kFewestWords) entries_.resize(kEntries);
  }

  // Appends the ids of an equal word; false when there is none.
  bool repeat(std::string_view word, std::vector<int32_t>& ids) {
    if (entries_.empty() || word.size() > kLongestWord) return false;
    const Entry& entry = entries_[place(word)];
    if (entry.word != word || entry.word.empty()) return false;
    for (size_t i = entry.begin; i < entry.end; ++i) ids.push_back(ids[i]);
    return true;
  }
  void remember(std::string_view word, size_t begin, size_t end) {
    if (entries_.empty() || word.size() > kLongestWord) return;
    entries_[place(word)] = {word, begin, end};
  }

 private:
  static constexpr size_t kEntries = 1 << 14;
  static constexpr size_t kFewestWords = 256;
  static constexpr size_t kLongestWord = 128;
  struct Entry {
    std::string_view word;
    size_t begin = 0;
    size_t end = 0;
  };
  static size_t place(std::string_view word) {
    return std::hash<std::string_view>{}(word) & (kEntries - 1);
  }
  std::vector<Entry> entries_;
};

std::vector<PlainRange> plain_runs(const std::vector<uint8_t>& tags) {
  std::vector<PlainRange> ranges;
  for (size_t at = 0; at < tags.size(); ++at) {
    if ((tags[at] & kTagPlain) == 0) continue;
    if (!ranges.empty() && ranges.back().end == at) {
      ranges.back().end = at + 1;
    } else {
      ranges.push_back({at, at + 1});
    }
  }
  return ranges;
}

// One encode call.
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, std::string_view text, std::span<const PlainRange> plain)
      : parts_(parts), text_(text), plain_(plain) {}

  Result<std::vector<int32_t>> run() {
    std::vector<TokenCut> cuts;
    parts_.raw_tokens.cut(text_, plain_, cuts);
    for (const TokenCut& cut : cuts) {
      if (cut.token != kNoToken) {
        add_token(cut.token);
      } else {
        TRY(add_text(cut));
      }
    }
    if (parts_.pre_tokenizer != nullptr) TRY(parts_.pre_tokenizer->apply(pieces_));
    return encode_pieces();
  }

 private:
  void add_token(int32_t token) {
    const auto at = static_cast<uint32_t>(pieces_.text.size());
    pieces_.pieces.push_back({at, at, token, false});
  }

  // Text between the tokens found in the raw text.
  Status add_text(const TokenCut& raw) {
    TaggedText tagged{std::string(text_.substr(raw.begin, raw.end - raw.begin)), tags_of(raw)};
    if (parts_.normalizer != nullptr) TRY(parts_.normalizer->apply(tagged));
    if (pieces_.text.size() + tagged.text.size() > kMaxNormalizedBytes) {
      return invalid_argument(fmt::format("text of {} bytes grows beyond {} bytes when normalized",
                                          text_.size(), kMaxNormalizedBytes),
                              "tokenize shorter texts");
    }
    const auto plain = plain_runs(tagged.tags);
    std::vector<TokenCut> cuts;
    parts_.normalized_tokens.cut(tagged.text, plain, cuts);
    for (const TokenCut& cut : cuts) {
      if (cut.token != kNoToken) {
        add_token(cut.token);
        continue;
      }
      const auto begin = static_cast<uint32_t>(pieces_.text.size());
      pieces_.text.append(tagged.text, cut.begin, cut.end - cut.begin);
      const bool at_start = tagged.tags.empty() ? raw.begin + cut.begin == 0
                                                : (tagged.tags[cut.begin] & kTagTextStart) != 0;
      pieces_.pieces.push_back(
          {begin, static_cast<uint32_t>(pieces_.text.size()), kNoToken, at_start});
    }
    return {};
  }

  std::vector<uint8_t> tags_of(const TokenCut& raw) {
    const bool start_matters = parts_.pre_tokenizer != nullptr &&
                               parts_.pre_tokenizer->reads_text_start() &&
                               parts_.normalizer != nullptr;
    const bool plain_matters = !plain_.empty() && !parts_.normalized_tokens.empty();
    if (!start_matters && !plain_matters) return {};
    std::vector<uint8_t> tags(raw.end - raw.begin, 0);
    if (raw.begin == 0) std::fill_n(tags.begin(), code_point_at(text_, 0).size, kTagTextStart);
    while (next_plain_ < plain_.size() && plain_[next_plain_].end <= raw.begin) ++next_plain_;
    for (size_t i = next_plain_; i < plain_.size() && plain_[i].begin < raw.end; ++i) {
      const size_t end = std::min(plain_[i].end, raw.end);
      for (size_t at = std::max(plain_[i].begin, raw.begin); at < end; ++at) {
        tags[at - raw.begin] |= kTagPlain;
      }
    }
    return tags;
  }

  Result<std::vector<int32_t>> encode_pieces() {
    std::vector<int32_t> ids;
    ids.reserve(pieces_.text.size() / 3);
    WordCache cache(pieces_.pieces.size());
    Bpe::Scratch scratch;
    for (const Piece& piece : pieces_.pieces) {
      if (piece.token != kNoToken) {
        ids.push_back(piece.token);
        continue;
      }
      const std::string_view word = pieces_.view(piece);
      if (cache.repeat(word, ids)) continue;
      const size_t begin = ids.size();
      TRY(parts_.bpe->encode_word(word, scratch, ids));
      cache.remember(word, begin, ids.size());
    }
    return ids;
  }

  const TokenizerParts& parts_;
  std::string_view text_;
  std::span<const PlainRange> plain_;
  size_t next_plain_ = 0;
  Pieces pieces_;
};

Result<std::vector<int32_t>> encode_text(const TokenizerParts& parts, std::string_view text,
                                         std::span<const PlainRange> plain,
                                         bool add_special_tokens) {
  if (text.size() > kMaxEncodeBytes) {
    return invalid_argument(fmt::format("text to tokenize: got {} bytes, wanted at most {}",
                                        text.size(), kMaxEncodeBytes),
                            "tokenize shorter texts");
  }
  if (const auto at = first_invalid_utf8(text)) {
    return invalid_argument(
        fmt::format("text to tokenize: got invalid UTF-8 at byte {} of {}, wanted valid UTF-8", *at,
                    text.size()),
        "convert the text to UTF-8");
  }
  auto ids = TRY(Encoder(parts, text, plain).run());
  return parts.post_processor.apply(std::move(ids), add_special_tokens);
}

Status check_id(int32_t id) {
  if (id >= 0) return {};
  return invalid_argument(fmt::format("token ids to decode: got id {}, wanted 0 or more", id),
                          "pass ids that a tokenizer or a model gave");
}

}  // namespace

struct Tokenizer::State : TokenizerParts {};

Tokenizer::Tokenizer(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view text,
                                                              std::string_view source) {
  auto state = std::make_unique<State>();
  static_cast<TokenizerParts&>(*state) = TRY(build_tokenizer_parts(text, source));
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(state)));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "tokenizer.json";
  std::ifstream file(path, std::ios::binary);
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (!file || failure) {
    return not_found(fmt::format("{}: cannot be read", path.string()),
                     "point to a model folder that holds tokenizer.json");
  }
  // Above the limit the text is refused anyway; one byte more is enough to see it.
  std::string text(std::min<uintmax_t>(size, kMaxTokenizerBytes + 1), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return from_json(text, path.string());
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view utf8, bool add_special_tokens,
                                               SpecialTokens specials) const {
  const PlainRange all{0, utf8.size()};
  const bool plain = specials == SpecialTokens::kPlainText && !utf8.empty();
  return encode_text(*state_, utf8, std::span(&all, plain ? 1 : 0), add_special_tokens);
}

Result<std::vector<int32_t>> Tokenizer::encode_segments(std::span<const Segment> segments,
                                                        bool add_special_tokens) const {
  std::string text;
  std::vector<PlainRange> plain;
  for (const Segment& segment : segments) {
    const size_t begin = text.size();
    text += segment.text;
    if (segment.specials == SpecialTokens::kParse || segment.text.empty()) continue;
    if (!plain.empty() && plain.back().end == begin) {
      plain.back().end = text.size();
    } else {
      plain.push_back({begin, text.size()});
    }
  }
  return encode_text(*state_, text, plain, add_special_tokens);
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids,
                                      bool skip_special_tokens) const {
  DecodeStream stream(state_->decoder);
  for (const int32_t id : ids) {
    TRY(check_id(id));
    const auto text = state_->text_to_decode(id, skip_special_tokens);
    if (text) TRY(stream.push(*text));
  }
  TRY(stream.finish());
  return stream.take();
}

int32_t Tokenizer::vocab_size() const { return state_->vocab_size; }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto added = state_->added_by_content.find(std::string(token));
  if (added != state_->added_by_content.end()) return state_->added[added->second].id;
  return state_->bpe->vocab().find(token);
}

std::optional<std::string_view> Tokenizer::id_to_token(int32_t id) const {
  const auto added = state_->added_by_id.find(id);
  if (added != state_->added_by_id.end()) return state_->added[added->second].content;
  return state_->bpe->vocab().text_of(id);
}

bool Tokenizer::is_special(int32_t id) const {
  const auto added = state_->added_by_id.find(id);
  return added != state_->added_by_id.end() && state_->added[added->second].special;
}

std::span<const AddedToken> Tokenizer::added_tokens() const { return state_->added; }

class Detokenizer::Stream : public DecodeStream {
 public:
  using DecodeStream::DecodeStream;
};

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special_tokens)
    : tokenizer_(std::move(tokenizer)),
      stream_(std::make_unique<Stream>(tokenizer_->state_->decoder)),
      skip_special_tokens_(skip_special_tokens) {}
Detokenizer::Detokenizer(Detokenizer&&) noexcept = default;
Detokenizer& Detokenizer::operator=(Detokenizer&&) noexcept = default;
Detokenizer::~Detokenizer() = default;

Result<std::string> Detokenizer::push(int32_t id) {
  TRY(check_id(id));
  const auto text = tokenizer_->state_->text_to_decode(id, skip_special_tokens_);
  if (text) TRY(stream_->push(*text));
  return stream_->take();
}

std::string Detokenizer::finish() {
  const Status finished = stream_->finish();
  std::string rest = stream_->take();
  stream_ = std::make_unique<Stream>(tokenizer_->state_->decoder);
  return finished.ok() ? rest : rest + std::string(kReplacementCharacter);
}

}  // namespace moe::text
