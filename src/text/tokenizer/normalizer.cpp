#include "text/tokenizer/normalizer.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/errors.hpp"
#include "text/tokenizer/pattern.hpp"
#include "text/tokenizer/unicode.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

using Owned = std::unique_ptr<const Normalizer>;

// Builds the new text from pieces of the old one and carries the tags along.
class Rewriter {
 public:
  explicit Rewriter(TaggedText& target) : old_(std::move(target)), target_(target) {
    target_ = {};
    target_.text.reserve(old_.text.size());
  }

  std::string_view old_text() const { return old_.text; }
  std::string& text() { return target_.text; }

  void keep(size_t begin, size_t end) {
    target_.text.append(old_.text, begin, end - begin);
    if (tagged()) {
      target_.tags.insert(target_.tags.end(),
                          old_.tags.begin() + static_cast<std::ptrdiff_t>(begin),
                          old_.tags.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  // Gives all bytes appended to text() since the last call the tags of old bytes [begin, end):
  // plain if one of them is, start if the byte `start_at` is.
  void tag_new(size_t begin, size_t end, std::optional<size_t> start_at) {
    if (!tagged()) return;
    uint8_t tag = 0;
    for (size_t i = begin; i < end; ++i) tag |= static_cast<uint8_t>(old_.tags[i] & kTagPlain);
    if (!start_at) {
      tag |= kTagTextStart;
    } else if (*start_at < old_.tags.size()) {
      tag |= static_cast<uint8_t>(old_.tags[*start_at] & kTagTextStart);
    }
    target_.tags.resize(target_.text.size(), tag);
  }

 private:
  bool tagged() const { return !old_.tags.empty(); }

  TaggedText old_;
  TaggedText& target_;
};

class UnicodeForm : public Normalizer {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}

  Status apply(TaggedText& text) const override {
    Rewriter rewriter(text);
    const std::string_view old = rewriter.old_text();
    for (size_t at = 0; at < old.size();) {
      const size_t size = normalization_chunk(old.substr(at));
      append_normalized(rewriter.text(), old.substr(at, size), form_);
      rewriter.tag_new(at, at + size, at);
      at += size;
    }
    return {};
  }

 private:
  NormalForm form_;
};

class Lowercase : public Normalizer {
 public:
  Status apply(TaggedText& text) const override {
    Rewriter rewriter(text);
    const std::string_view old = rewriter.old_text();
    for (size_t at = 0; at < old.size();) {
      const CodePoint point = code_point_at(old, at);
      append_lowercase(rewriter.text(), point.value);
      rewriter.tag_new(at, at + point.size, at);
      at += point.size;
    }
    return {};
  }
};

class StripAccents : public Normalizer {
 public:
  Status apply(TaggedText& text) const override {
    Rewriter rewriter(text);
    const std::string_view old = rewriter.old_text();
    for (size_t at = 0; at < old.size();) {
      const CodePoint point = code_point_at(old, at);
      if (!is_combining_mark(point.value)) rewriter.keep(at, at + point.size);
      at += point.size;
    }
    return {};
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  Status apply(TaggedText& text) const override {
    size_t begin = 0;
    size_t end = text.text.size();
    while (left_ && begin < end) {
      const CodePoint point = code_point_at(text.text, begin);
      if (!is_white_space(point.value)) break;
      begin += point.size;
    }
    while (right_ && end > begin) {
      const CodePoint point = code_point_before(text.text, end);
      if (!is_white_space(point.value)) break;
      end -= point.size;
    }
    Rewriter rewriter(text);
    rewriter.keep(begin, end);
    return {};
  }

 private:
  bool left_;
  bool right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  Status apply(TaggedText& text) const override {
    if (text.text.empty() || prefix_.empty()) return {};
    Rewriter rewriter(text);
    rewriter.text() = prefix_;
    // The prefix belongs to the first character, but is never what a user wrote.
    rewriter.tag_new(0, 0, 0);
    rewriter.keep(0, rewriter.old_text().size());
    return {};
  }

 private:
  std::string prefix_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status apply(TaggedText& text) const override {
    std::vector<Match> matches;
    TRY(pattern_.find_all(text.text, matches));
    if (matches.empty()) return {};
    if (text.text.size() + matches.size() * content_.size() > kMaxNormalizedBytes) {
      return invalid_argument(fmt::format("text of {} bytes grows beyond {} bytes when normalized",
                                          text.text.size(), kMaxNormalizedBytes),
                              "tokenize shorter texts");
    }
    Rewriter rewriter(text);
    size_t done = 0;
    for (const Match& match : matches) {
      rewriter.keep(done, match.begin);
      rewriter.text() += content_;
      // The library aligns new text with the byte before its place.
      const auto before = match.end == 0 ? std::nullopt : std::optional<size_t>(match.end - 1);
      rewriter.tag_new(match.begin, match.end, before);
      done = match.end;
    }
    rewriter.keep(done, rewriter.old_text().size());
    return {};
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<Owned> parts) : parts_(std::move(parts)) {}

  Status apply(TaggedText& text) const override {
    for (const Owned& part : parts_) TRY(part->apply(text));
    return {};
  }

 private:
  std::vector<Owned> parts_;
};

Result<Owned> parse_sequence(const JsonView& view) {
  const auto list = TRY(view.member("normalizers"));
  const auto elements = TRY(list.elements());
  std::vector<Owned> parts;
  for (const JsonView& element : elements) parts.push_back(TRY(parse_normalizer(element)));
  return Owned(std::make_unique<Sequence>(std::move(parts)));
}

Result<Owned> parse_replace(const JsonView& view) {
  const auto pattern_view = TRY(view.member("pattern"));
  auto pattern = TRY(Pattern::parse(pattern_view));
  std::string content(TRY(view.string_at("content")));
  return Owned(std::make_unique<Replace>(std::move(pattern), std::move(content)));
}

}  // namespace

Result<Owned> parse_normalizer(const JsonView& view) {
  const auto type_view = TRY(view.member("type"));
  const std::string_view type = TRY(type_view.string());
  if (type == "NFC") return Owned(std::make_unique<UnicodeForm>(NormalForm::kNfc));
  if (type == "NFD") return Owned(std::make_unique<UnicodeForm>(NormalForm::kNfd));
  if (type == "NFKC") return Owned(std::make_unique<UnicodeForm>(NormalForm::kNfkc));
  if (type == "NFKD") return Owned(std::make_unique<UnicodeForm>(NormalForm::kNfkd));
  if (type == "Lowercase") return Owned(std::make_unique<Lowercase>());
  if (type == "StripAccents") return Owned(std::make_unique<StripAccents>());
  if (type == "Strip") {
    const bool left = TRY(view.boolean_at("strip_left", std::nullopt));
    const bool right = TRY(view.boolean_at("strip_right", std::nullopt));
    return Owned(std::make_unique<Strip>(left, right));
  }
  if (type == "Prepend")
    return Owned(std::make_unique<Prepend>(std::string(TRY(view.string_at("prepend")))));
  if (type == "Replace") return parse_replace(view);
  if (type == "Sequence") return parse_sequence(view);
  return type_view.not_supported(fmt::format("the normalizer \"{}\"", type));
}

}  // namespace moe::text
