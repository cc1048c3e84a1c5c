#include "text/tokenizer/pre_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.hpp"
#include "text/tokenizer/byte_alphabet.hpp"
#include "text/tokenizer/normalizer.hpp"
#include "text/tokenizer/pattern.hpp"
#include "text/tokenizer/unicode.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

using Owned = std::unique_ptr<const PreTokenizer>;

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct Cut {
  uint32_t begin;
  uint32_t end;
  bool is_match;
};

// Matches and the text between them, in order; together they cover [0, size).
void cover(const std::vector<Match>& matches, uint32_t size, bool invert, std::vector<Cut>& cuts) {
  uint32_t done = 0;
  for (const Match& match : matches) {
    if (done != match.begin) cuts.push_back({done, match.begin, invert});
    cuts.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done != size) cuts.push_back({done, size, invert});
}

void merge_with_previous(std::vector<Cut>& cuts) {
  std::vector<Cut> merged;
  bool previous = false;
  for (const Cut& cut : cuts) {
    if (cut.is_match && !previous && !merged.empty()) {
      merged.back().end = cut.end;
    } else {
      merged.push_back(cut);
    }
    previous = cut.is_match;
  }
  cuts = std::move(merged);
}

void merge_with_next(std::vector<Cut>& cuts) {
  std::vector<Cut> merged;
  bool previous = false;
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    if (cut->is_match && !previous && !merged.empty()) {
      merged.back().begin = cut->begin;
    } else {
      merged.push_back(*cut);
    }
    previous = cut->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  cuts = std::move(merged);
}

void merge_runs(std::vector<Cut>& cuts) {
  std::vector<Cut> merged;
  bool previous = false;
  for (const Cut& cut : cuts) {
    if (cut.is_match == previous && !merged.empty()) {
      merged.back().end = cut.end;
    } else {
      merged.push_back(cut);
    }
    previous = cut.is_match;
  }
  cuts = std::move(merged);
}

void merge(std::vector<Cut>& cuts, Behavior behavior) {
  switch (behavior) {
    case Behavior::kRemoved:
    case Behavior::kIsolated:
      return;
    case Behavior::kMergedWithPrevious:
      return merge_with_previous(cuts);
    case Behavior::kMergedWithNext:
      return merge_with_next(cuts);
    case Behavior::kContiguous:
      return merge_runs(cuts);
  }
}

// Replaces each piece that is not a token by its parts. `find` appends the matches in a text.
template <class Find>
Status split_pieces(Pieces& pieces, Behavior behavior, bool invert, const Find& find) {
  std::vector<Piece> result;
  result.reserve(pieces.pieces.size() + pieces.text.size() / 4);
  std::vector<Match> matches;
  std::vector<Cut> cuts;
  for (const Piece& piece : pieces.pieces) {
    if (piece.token != kNoToken) {
      result.push_back(piece);
      continue;
    }
    matches.clear();
    cuts.clear();
    TRY(find(pieces.view(piece), matches));
    cover(matches, piece.end - piece.begin, invert, cuts);
    merge(cuts, behavior);
    for (const Cut& cut : cuts) {
      if (cut.begin == cut.end || (behavior == Behavior::kRemoved && cut.is_match)) continue;
      result.push_back({piece.begin + cut.begin, piece.begin + cut.end, kNoToken,
                        piece.at_text_start && cut.begin == 0});
    }
  }
  pieces.pieces = std::move(result);
  return {};
}

// Each character for which `test` holds is a match.
template <class Test>
auto characters_where(const Test& test) {
  return [test](std::string_view text, std::vector<Match>& matches) -> Status {
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      if (test(point.value)) matches.push_back({at, at + point.size});
      at += point.size;
    }
    return {};
  };
}

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status apply(Pieces& pieces) const override {
    return split_pieces(pieces, behavior_, invert_,
                        [&](std::string_view text, std::vector<Match>& matches) {
                          return pattern_.find_all(text, matches);
                        });
  }

 private:
  Pattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::optional<Pattern> words)
      : add_prefix_space_(add_prefix_space), words_(std::move(words)) {}

  Status apply(Pieces& pieces) const override {
    if (add_prefix_space_) prefix_spaces(pieces);
    if (words_) {
      TRY(split_pieces(pieces, Behavior::kIsolated, false,
                       [&](std::string_view text, std::vector<Match>& matches) {
                         return words_->find_all(text, matches);
                       }));
    }
    map_bytes(pieces);
    return {};
  }

 private:
  static void prefix_spaces(Pieces& pieces) {
    std::string text;
    text.reserve(pieces.text.size() + pieces.pieces.size());
    for (Piece& piece : pieces.pieces) {
      const auto begin = static_cast<uint32_t>(text.size());
      if (piece.token == kNoToken && pieces.text[piece.begin] != ' ') text += ' ';
      text += pieces.view(piece);
      piece.begin = begin;
      piece.end = static_cast<uint32_t>(text.size());
    }
    pieces.text = std::move(text);
  }

  static void map_bytes(Pieces& pieces) {
    std::string text;
    text.reserve(pieces.text.size() + pieces.text.size() / 2);
    for (Piece& piece : pieces.pieces) {
      const auto begin = static_cast<uint32_t>(text.size());
      if (piece.token == kNoToken) {
        for (const char byte : pieces.view(piece))
          text += character_of_byte(static_cast<uint8_t>(byte));
      }
      piece.begin = begin;
      piece.end = static_cast<uint32_t>(text.size());
    }
    pieces.text = std::move(text);
  }

  bool add_prefix_space_;
  std::optional<Pattern> words_;
};

enum class PrependScheme { kAlways, kFirst, kNever };

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}

  bool reads_text_start() const override { return scheme_ == PrependScheme::kFirst; }

  Status apply(Pieces& pieces) const override {
    replace_spaces(pieces);
    if (!split_) return {};
    return split_pieces(pieces, Behavior::kMergedWithNext, false,
                        [&](std::string_view text, std::vector<Match>& matches) -> Status {
                          for (size_t at = text.find(replacement_); at != std::string_view::npos;
                               at = text.find(replacement_, at + replacement_.size())) {
                            matches.push_back({static_cast<uint32_t>(at),
                                               static_cast<uint32_t>(at + replacement_.size())});
                          }
                          return {};
                        });
  }

 private:
  void replace_spaces(Pieces& pieces) const {
    std::string text;
    text.reserve(pieces.text.size() + pieces.text.size() / 2);
    for (Piece& piece : pieces.pieces) {
      const auto begin = static_cast<uint32_t>(text.size());
      if (piece.token == kNoToken) append_piece(text, pieces.view(piece), piece.at_text_start);
      piece.begin = begin;
      piece.end = static_cast<uint32_t>(text.size());
    }
    pieces.text = std::move(text);
  }

  void append_piece(std::string& text, std::string_view piece, bool at_text_start) const {
    const bool wants_prefix =
        scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && at_text_start);
    const bool has_prefix = piece.starts_with(' ') || piece.starts_with(replacement_);
    if (wants_prefix && !has_prefix) text += replacement_;
    for (const char byte : piece) {
      if (byte == ' ') {
        text += replacement_;
      } else {
        text += byte;
      }
    }
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}

  Status apply(Pieces& pieces) const override {
    const Behavior behavior = individual_ ? Behavior::kIsolated : Behavior::kContiguous;
    return split_pieces(pieces, behavior, false, characters_where(is_numeric));
  }

 private:
  bool individual_;
};

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(Behavior behavior) : behavior_(behavior) {}

  Status apply(Pieces& pieces) const override {
    return split_pieces(pieces, behavior_, false, characters_where(is_punctuation));
  }

 private:
  Behavior behavior_;
};

// Words (\w+) and runs of other visible characters; white space goes.
class Whitespace : public PreTokenizer {
 public:
  Status apply(Pieces& pieces) const override {
    return split_pieces(pieces, Behavior::kRemoved, true, find_words);
  }

 private:
  enum class Kind { kSpace, kWord, kOther };

  static Kind kind_of(uint32_t code_point) {
    if (is_word(code_point)) return Kind::kWord;
    return is_white_space(code_point) ? Kind::kSpace : Kind::kOther;
  }

  static Status find_words(std::string_view text, std::vector<Match>& matches) {
    Kind previous = Kind::kSpace;
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      const Kind kind = kind_of(point.value);
      if (kind != Kind::kSpace && kind == previous) {
        matches.back().end = at + point.size;
      } else if (kind != Kind::kSpace) {
        matches.push_back({at, at + point.size});
      }
      previous = kind;
      at += point.size;
    }
    return {};
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  Status apply(Pieces& pieces) const override {
    return split_pieces(pieces, Behavior::kRemoved, false, characters_where(is_white_space));
  }
};

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<Owned> parts) : parts_(std::move(parts)) {}

  bool reads_text_start() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Owned& part) { return part->reads_text_start(); });
  }
  Status apply(Pieces& pieces) const override {
    for (const Owned& part : parts_) {
      TRY(part->apply(pieces));
      if (pieces.text.size() > kMaxNormalizedBytes) {
        return invalid_argument(
            fmt::format("text grows beyond {} bytes when split into words", kMaxNormalizedBytes),
            "tokenize shorter texts");
      }
    }
    return {};
  }

 private:
  std::vector<Owned> parts_;
};

Result<Behavior> parse_behavior(const JsonView& view) {
  const std::string_view name = TRY(view.string());
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return view.wrong("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

Result<Owned> parse_split(const JsonView& view) {
  const auto pattern_view = TRY(view.member("pattern"));
  const auto behavior_view = TRY(view.member("behavior"));
  auto pattern = TRY(Pattern::parse(pattern_view));
  const Behavior behavior = TRY(parse_behavior(behavior_view));
  const bool invert = TRY(view.boolean_at("invert", std::nullopt));
  return Owned(std::make_unique<Split>(std::move(pattern), behavior, invert));
}

Result<Owned> parse_byte_level(const JsonView& view) {
  const bool prefix = TRY(view.boolean_at("add_prefix_space", std::nullopt));
  std::optional<Pattern> words;
  if (TRY(view.boolean_at("use_regex", true))) words = TRY(Pattern::regex(kGpt2Pattern));
  return Owned(std::make_unique<ByteLevel>(prefix, std::move(words)));
}

Result<Owned> parse_metaspace(const JsonView& view) {
  std::string replacement(TRY(view.character_at("replacement")));
  auto scheme = PrependScheme::kAlways;
  const auto scheme_view = TRY(view.find("prepend_scheme"));
  if (scheme_view) {
    const std::string_view name = TRY(scheme_view->string());
    if (name == "first") {
      scheme = PrependScheme::kFirst;
    } else if (name == "never") {
      scheme = PrependScheme::kNever;
    } else if (name != "always") {
      return scheme_view->wrong("always, first or never");
    }
  }
  if (!TRY(view.boolean_at("add_prefix_space", true))) {
    if (scheme_view && scheme != PrependScheme::kNever) {
      return scheme_view->wrong("never, as add_prefix_space is false");
    }
    scheme = PrependScheme::kNever;
  }
  const bool split = TRY(view.boolean_at("split", true));
  return Owned(std::make_unique<Metaspace>(std::move(replacement), scheme, split));
}

Result<Owned> parse_sequence(const JsonView& view) {
  const auto list = TRY(view.member("pretokenizers"));
  const auto elements = TRY(list.elements());
  std::vector<Owned> parts;
  for (const JsonView& element : elements) parts.push_back(TRY(parse_pre_tokenizer(element)));
  return Owned(std::make_unique<Sequence>(std::move(parts)));
}

Result<Owned> parse_punctuation(const JsonView& view) {
  const auto behavior_view = TRY(view.find("behavior"));
  const Behavior behavior =
      behavior_view ? TRY(parse_behavior(*behavior_view)) : Behavior::kIsolated;
  return Owned(std::make_unique<Punctuation>(behavior));
}

}  // namespace

Result<Owned> parse_pre_tokenizer(const JsonView& view) {
  const auto type_view = TRY(view.member("type"));
  const std::string_view type = TRY(type_view.string());
  if (type == "ByteLevel") return parse_byte_level(view);
  if (type == "Split") return parse_split(view);
  if (type == "Metaspace") return parse_metaspace(view);
  if (type == "Digits") {
    return Owned(std::make_unique<Digits>(TRY(view.boolean_at("individual_digits", std::nullopt))));
  }
  if (type == "Punctuation") return parse_punctuation(view);
  if (type == "Whitespace") return Owned(std::make_unique<Whitespace>());
  if (type == "WhitespaceSplit") return Owned(std::make_unique<WhitespaceSplit>());
  if (type == "Sequence") return parse_sequence(view);
  return type_view.not_supported(fmt::format("the pre-tokenizer \"{}\"", type));
}

}  // namespace moe::text
