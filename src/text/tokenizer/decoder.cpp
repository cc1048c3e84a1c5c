#include "text/tokenizer/decoder.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "text/tokenizer/byte_alphabet.hpp"
#include "text/tokenizer/pattern.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

using Step = std::shared_ptr<const DecodeStep>;

// Wraps a function that starts a sink.
class StepOf : public DecodeStep {
 public:
  using Start = std::function<std::unique_ptr<TokenSink>(TokenSink&)>;
  explicit StepOf(Start start) : start_(std::move(start)) {}
  std::unique_ptr<TokenSink> start(TokenSink& next) const override { return start_(next); }

 private:
  Start start_;
};

template <class Sink, class... Args>
Step step(Args... args) {
  return std::make_shared<StepOf>(
      [args...](TokenSink& next) { return std::make_unique<Sink>(next, args...); });
}

class Chained : public TokenSink {
 public:
  explicit Chained(TokenSink& next) : next_(next) {}
  Status end_token() override { return next_.end_token(); }
  Status finish() override { return next_.finish(); }

 protected:
  TokenSink& next() { return next_; }

 private:
  TokenSink& next_;
};

// For steps that must see a token whole.
class WholeTokens : public Chained {
 public:
  using Chained::Chained;
  Status text(std::string_view part) override {
    token_ += part;
    return {};
  }
  Status end_token() override {
    const std::string token = std::move(token_);
    token_.clear();
    return whole(token);
  }

 protected:
  virtual Status whole(const std::string& token) = 0;

 private:
  std::string token_;
};

// A token whose characters all belong to the byte alphabet stands for those bytes, another one for
// its own. All tokens together become one token, invalid UTF-8 replaced.
class ByteLevelSink : public WholeTokens {
 public:
  using WholeTokens::WholeTokens;
  Status finish() override {
    std::string text;
    repair_.finish(text);
    if (!text.empty()) TRY(next().text(text));
    TRY(next().end_token());
    return next().finish();
  }

 protected:
  Status whole(const std::string& token) override {
    std::string text;
    repair_.push(bytes_of(token), text);
    if (text.empty()) return {};
    return next().text(text);
  }

 private:
  static std::string bytes_of(const std::string& token) {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
      const CodePoint point = code_point_at(token, at);
      const auto byte = byte_of_character(point.value);
      if (!byte) return token;
      bytes.push_back(static_cast<char>(*byte));
      at += point.size;
    }
    return bytes;
  }

  Utf8Repair repair_;
};

// <0xHH> tokens stand for bytes. A run of them is one text if it is valid UTF-8 as a whole, else
// each of its bytes is U+FFFD: so a run waits until it ends or cannot become valid any more.
class ByteFallbackSink : public WholeTokens {
 public:
  using WholeTokens::WholeTokens;
  Status finish() override {
    TRY(end_run());
    return next().finish();
  }

 protected:
  Status whole(const std::string& token) override {
    const auto byte = byte_of(token);
    if (!byte) {
      TRY(end_run());
      TRY(next().text(token));
      return next().end_token();
    }
    run_.push_back(static_cast<char>(*byte));
    if (!run_is_invalid_) check_last_byte();
    return run_is_invalid_ ? replace_run() : Status();
  }

 private:
  static std::optional<uint8_t> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const auto digit = [](char c) -> std::optional<unsigned> {
      if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
      if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
      if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
      return std::nullopt;
    };
    // The library reads a number here, which may carry a plus sign.
    const auto high = token[3] == '+' ? std::optional<unsigned>(0) : digit(token[3]);
    const auto low = digit(token[4]);
    if (!high || !low) return std::nullopt;
    return static_cast<uint8_t>(*high << 4 | *low);
  }

  void check_last_byte() {
    std::string repaired;
    check_.push(std::string_view(run_).substr(run_.size() - 1), repaired);
    run_is_invalid_ = std::string_view(run_).substr(checked_, repaired.size()) != repaired;
    checked_ += repaired.size();
  }

  Status replace_run() {
    for (size_t i = 0; i < run_.size(); ++i) {
      TRY(next().text(kReplacementCharacter));
      TRY(next().end_token());
    }
    run_.clear();
    return {};
  }

  Status end_run() {
    const bool whole_characters = !run_is_invalid_ && checked_ == run_.size();
    Status status;
    if (!whole_characters) {
      status = replace_run();
    } else if (!run_.empty()) {
      status = next().text(run_);
      if (status.ok()) status = next().end_token();
    }
    run_.clear();
    checked_ = 0;
    check_ = {};
    run_is_invalid_ = false;
    return status;
  }

  std::string run_;     // bytes of the run that are not given on
  size_t checked_ = 0;  // of run_: the complete, valid characters in front
  Utf8Repair check_;
  bool run_is_invalid_ = false;
};

// The replacement character becomes a space; in the first token it goes, unless the scheme is
// "never".
class MetaspaceSink : public Chained {
 public:
  MetaspaceSink(TokenSink& next, std::string replacement, bool drops_first)
      : Chained(next), replacement_(std::move(replacement)), dropping_(drops_first) {}

  Status text(std::string_view part) override {
    std::string out;
    for (size_t at = 0; at < part.size();) {
      const size_t size = code_point_at(part, at).size;
      if (part.substr(at, size) != replacement_) {
        out += part.substr(at, size);
      } else if (!dropping_) {
        out += ' ';
      }
      at += size;
    }
    if (out.empty()) return {};
    return next().text(out);
  }
  Status end_token() override {
    dropping_ = false;
    return next().end_token();
  }

 private:
  std::string replacement_;
  bool dropping_;
};

class FuseSink : public Chained {
 public:
  using Chained::Chained;
  Status text(std::string_view part) override { return next().text(part); }
  Status end_token() override { return {}; }
  Status finish() override {
    TRY(next().end_token());
    return next().finish();
  }
};

// Takes up to `start` copies of a character from the front of each token and up to `stop` from its
// end.
class StripSink : public Chained {
 public:
  StripSink(TokenSink& next, std::string content, int64_t start, int64_t stop)
      : Chained(next), content_(std::move(content)), start_(start), stop_(stop), left_(start) {}

  Status text(std::string_view part) override {
    std::string out;
    for (size_t at = 0; at < part.size();) {
      const size_t size = code_point_at(part, at).size;
      add(part.substr(at, size), out);
      at += size;
    }
    if (out.empty()) return {};
    return next().text(out);
  }
  Status end_token() override {
    left_ = start_;
    held_ = 0;
    return next().end_token();
  }

 private:
  void add(std::string_view character, std::string& out) {
    if (character != content_) {
      left_ = 0;
      for (; held_ > 0; --held_) out += content_;
      out += character;
    } else if (left_ > 0) {
      --left_;
    } else if (held_ < stop_) {
      ++held_;
    } else {
      out += content_;
    }
  }

  std::string content_;
  int64_t start_;
  int64_t stop_;
  int64_t left_;      // copies that may still go from the front
  int64_t held_ = 0;  // copies at the end so far
};

class ReplaceSink : public WholeTokens {
 public:
  ReplaceSink(TokenSink& next, Pattern pattern, std::string content)
      : WholeTokens(next), pattern_(std::move(pattern)), content_(std::move(content)) {
    const std::string& text = pattern_.literal_text();
    one_character_ = !text.empty() && code_point_at(text, 0).size == text.size();
  }

  Status text(std::string_view part) override {
    if (!one_character_) return WholeTokens::text(part);
    return replace(part);
  }
  Status end_token() override {
    if (!one_character_) return WholeTokens::end_token();
    return next().end_token();
  }

 protected:
  Status whole(const std::string& token) override {
    TRY(replace(token));
    return next().end_token();
  }

 private:
  Status replace(std::string_view part) {
    std::vector<Match> matches;
    // Like the library, which does not look for empty matches in an empty token.
    if (!part.empty()) TRY(pattern_.find_all(part, matches));
    if (matches.empty()) return next().text(part);
    std::string out;
    size_t done = 0;
    for (const Match& match : matches) {
      out += part.substr(done, match.begin - done);
      out += content_;
      done = match.end;
    }
    out += part.substr(done);
    return next().text(out);
  }

  Pattern pattern_;
  std::string content_;
  bool one_character_;
};

class JoinSink : public Chained {
 public:
  using Chained::Chained;
  Status text(std::string_view part) override {
    TRY(separate());
    return next().text(part);
  }
  Status end_token() override {
    TRY(separate());
    inside_ = false;
    return next().end_token();
  }

 private:
  Status separate() {
    if (inside_) return {};
    inside_ = true;
    if (!any_) {
      any_ = true;
      return {};
    }
    return next().text(" ");
  }
  bool any_ = false;     // a token came before
  bool inside_ = false;  // the current token has begun
};

Result<std::vector<Step>> parse_steps(const JsonView& view);

Result<Step> parse_metaspace(const JsonView& view) {
  std::string replacement(TRY(view.character_at("replacement")));
  bool drops_first = true;
  if (const auto scheme = TRY(view.find("prepend_scheme"))) {
    const std::string_view name = TRY(scheme->string());
    if (name != "always" && name != "first" && name != "never") {
      return scheme->wrong("always, first or never");
    }
    drops_first = name != "never";
  }
  if (!TRY(view.boolean_at("add_prefix_space", true))) drops_first = false;
  return step<MetaspaceSink>(std::move(replacement), drops_first);
}

Result<Step> parse_strip(const JsonView& view) {
  constexpr int64_t kMostStripped = int64_t{1} << 31;
  std::string content(TRY(view.character_at("content")));
  const int64_t start = TRY(view.integer_at("start", 0, kMostStripped));
  const int64_t stop = TRY(view.integer_at("stop", 0, kMostStripped));
  return step<StripSink>(std::move(content), start, stop);
}

Result<Step> parse_replace(const JsonView& view) {
  const auto pattern_view = TRY(view.member("pattern"));
  auto pattern = TRY(Pattern::parse(pattern_view));
  std::string content(TRY(view.string_at("content")));
  return step<ReplaceSink>(std::move(pattern), std::move(content));
}

Result<std::vector<Step>> parse_sequence(const JsonView& view) {
  const auto list = TRY(view.member("decoders"));
  const auto elements = TRY(list.elements());
  std::vector<Step> steps;
  for (const JsonView& element : elements) {
    const auto inner = TRY(parse_steps(element));
    steps.insert(steps.end(), inner.begin(), inner.end());
  }
  return steps;
}

Result<std::vector<Step>> parse_steps(const JsonView& view) {
  const auto type_view = TRY(view.member("type"));
  const std::string_view type = TRY(type_view.string());
  if (type == "Sequence") return parse_sequence(view);
  std::vector<Step> steps;
  if (type == "ByteLevel") {
    steps.push_back(step<ByteLevelSink>());
  } else if (type == "ByteFallback") {
    steps.push_back(step<ByteFallbackSink>());
  } else if (type == "Metaspace") {
    steps.push_back(TRY(parse_metaspace(view)));
  } else if (type == "Fuse") {
    steps.push_back(step<FuseSink>());
  } else if (type == "Strip") {
    steps.push_back(TRY(parse_strip(view)));
  } else if (type == "Replace") {
    steps.push_back(TRY(parse_replace(view)));
  } else {
    return type_view.not_supported(fmt::format("the decoder \"{}\"", type));
  }
  return steps;
}

}  // namespace

class DecodeStream::Output : public TokenSink {
 public:
  Status text(std::string_view part) override {
    text_ += part;
    return {};
  }
  Status end_token() override { return {}; }
  Status finish() override { return {}; }
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

Decoder::Decoder() { steps_.push_back(step<JoinSink>()); }

Result<Decoder> Decoder::parse(const JsonView& view) {
  Decoder decoder;
  decoder.steps_ = TRY(parse_steps(view));
  return decoder;
}

DecodeStream::DecodeStream(const Decoder& decoder) : output_(std::make_unique<Output>()) {
  first_ = output_.get();
  for (auto made = decoder.steps_.rbegin(); made != decoder.steps_.rend(); ++made) {
    sinks_.push_back((*made)->start(*first_));
    first_ = sinks_.back().get();
  }
}

DecodeStream::~DecodeStream() = default;

Status DecodeStream::push(std::string_view token) {
  TRY(first_->text(token));
  return first_->end_token();
}

Status DecodeStream::finish() { return first_->finish(); }

std::string DecodeStream::take() { return output_->take(); }

}  // namespace moe::text
