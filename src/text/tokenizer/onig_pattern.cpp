#include "text/tokenizer/onig_pattern.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "base/errors.hpp"
#include "text/tokenizer/onig_class.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

constexpr uint32_t kMaxRepeat = 1000;
constexpr size_t kNone = static_cast<size_t>(-1);

bool is_ascii_letter(uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(uint32_t c) { return c >= '0' && c <= '9'; }

std::string literal(uint32_t code_point) {
  std::string text;
  if (code_point >= 0x80 || is_ascii_letter(code_point) || is_ascii_digit(code_point)) {
    append_utf8(text, code_point);
  } else {
    text = fmt::format("\\x{{{:x}}}", code_point);
  }
  return text;
}

// Pairs of letters that Oniguruma, ignoring case, also finds in one character (ß, ﬀ, ﬁ, ﬂ, ﬅ).
bool folds_together(uint32_t a, uint32_t b) {
  const auto lower = [](uint32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
  a = lower(a);
  b = lower(b);
  return (a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    TRY(sequence(0, false));
    if (at_ < in_.size()) return refuse("an unmatched ')'");
    return std::move(out_);
  }

 private:
  // What a quantifier would apply to.
  struct Atom {
    size_t begin = kNone;  // in out_
    bool quantified = false;
    bool repeatable = false;
  };

  Error refuse(std::string_view construct) const { return refuse_at(construct, at_); }
  Error refuse_at(std::string_view construct, size_t at) const {
    return unsupported(fmt::format("regular expression /{}/: {} at byte {}", in_, construct, at));
  }

  bool more() const { return at_ < in_.size(); }
  bool next_is(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }
  uint32_t take_code_point() {
    const CodePoint point = code_point_at(in_, at_);
    at_ += point.size;
    return point.value;
  }

  void begin_atom(bool repeatable) {
    atom_ = {out_.size(), false, repeatable};
    previous_letter_ = 0;
  }

  // Alternatives up to the ')' that closes this group, or the end.
  Status sequence(int depth, bool ignore_case) {
    if (depth > kMaxPatternDepth) return refuse("nesting deeper than 64 groups");
    size_t options_open = 0;  // option groups that end with this group
    atom_ = {};
    previous_letter_ = 0;
    while (more() && in_[at_] != ')') {
      if (take("|")) {
        out_ += '|';
        atom_ = {};
        previous_letter_ = 0;
      } else if (next_is("(?") && is_isolated_option()) {
        TRY(isolated_option(ignore_case));
        ++options_open;
      } else {
        TRY(term(depth, ignore_case));
      }
    }
    out_.append(options_open, ')');
    return {};
  }

  // "(?i)" and the like: applies up to the end of the group, over its later alternatives too.
  bool is_isolated_option() const {
    size_t i = at_ + 2;
    while (i < in_.size() &&
           (std::islower(static_cast<unsigned char>(in_[i])) != 0 || in_[i] == '-'))
      ++i;
    return i > at_ + 2 && i < in_.size() && in_[i] == ')';
  }

  Status isolated_option(bool& ignore_case) {
    at_ += 2;
    out_ += TRY(option_letters(ignore_case));
    out_ += ':';
    ++at_;  // ')'
    atom_ = {};
    previous_letter_ = 0;
    return {};
  }

  // The letters of (?imx-imx as PCRE2 writes them, "(?" included.
  Result<std::string> option_letters(bool& ignore_case) {
    std::string text = "(?";
    bool on = true;
    while (more() && in_[at_] != ')' && in_[at_] != ':') {
      const char letter = in_[at_];
      if (letter == '-') {
        on = false;
        text += '-';
      } else if (letter == 'i') {
        ignore_case = on;
        text += 'i';
      } else if (letter == 'm') {
        text += 's';  // Oniguruma's m lets '.' match a newline
      } else {
        return refuse(fmt::format("option '{}'", letter));
      }
      ++at_;
    }
    return text;
  }

  Status term(int depth, bool ignore_case) {
    const size_t start = at_;
    const char c = in_[at_];
    switch (c) {
      case '(':
        return group(depth, ignore_case);
      case '[': {
        begin_atom(true);
        out_ += TRY(character_class(depth, ignore_case)).expression(false);
        return {};
      }
      case '*':
      case '+':
      case '?':
        return quantifier();
      case '{':
        if (is_interval()) return quantifier();
        break;
      case '\\':
        return escape(ignore_case);
      case '.':
        begin_atom(true);
        ++at_;
        out_ += '.';
        return {};
      case '^':
        begin_atom(false);
        ++at_;
        out_ += '^';
        return {};
      case '$':
        begin_atom(false);
        ++at_;
        out_ += '$';
        return {};
      default:
        break;
    }
    return literal_term(take_code_point(), ignore_case, start);
  }

  Status literal_term(uint32_t code_point, bool ignore_case, size_t start) {
    const uint32_t before = previous_letter_;
    begin_atom(true);
    if (ignore_case && code_point >= 0x80) {
      return refuse_at("a non-ASCII letter where case is ignored", start);
    }
    if (ignore_case && folds_together(before, code_point)) {
      return refuse_at("letters that fold to one character where case is ignored", start);
    }
    previous_letter_ = code_point;
    out_ += literal(code_point);
    return {};
  }

  Status group(int depth, bool ignore_case) {
    const size_t begin = out_.size();
    const size_t start = at_;
    bool repeatable = true;
    bool inner_case = ignore_case;
    ++at_;
    if (take("?#")) {
      while (more() && in_[at_] != ')') ++at_;
      if (!take(")")) return refuse("an unclosed comment");
      return {};
    }
    if (take("?:")) {
      out_ += "(?:";
    } else if (take("?>")) {
      out_ += "(?>";
    } else if (next_is("?=") || next_is("?!") || next_is("?<=") || next_is("?<!")) {
      const size_t length = in_[at_ + 1] == '<' ? 3 : 2;
      out_ += '(';
      out_ += in_.substr(at_, length);
      at_ += length;
      repeatable = false;
    } else if (next_is("?<") || next_is("?'")) {
      return refuse("a named group");
    } else if (take("?")) {
      out_ += TRY(option_letters(inner_case));
      if (!take(":")) return refuse("a group of this kind");
      out_ += ':';
    } else if (next_is("*")) {
      return refuse("a callout");
    } else {
      out_ += "(?:";  // captures are never read, and references to them are refused
    }
    TRY(sequence(depth + 1, inner_case));
    if (!take(")")) return refuse_at("an unclosed group", start);
    out_ += ')';
    atom_ = {begin, false, repeatable};
    previous_letter_ = 0;
    return {};
  }

  bool read_number(size_t& at, uint32_t& value) const {
    const size_t begin = at;
    value = 0;
    while (at < in_.size() && is_ascii_digit(static_cast<uint8_t>(in_[at])) && at - begin < 6) {
      value = value * 10 + static_cast<uint32_t>(in_[at] - '0');
      ++at;
    }
    return at > begin;
  }

  struct Interval {
    uint32_t least = 0;
    uint32_t most = 0;
    bool open = false;  // {n,}
    bool exact = false;
    size_t end = 0;  // in in_
  };

  // {n}, {n,}, {n,m} or {,m}; anything else in braces is literal text.
  std::optional<Interval> interval() const {
    Interval result;
    size_t at = at_ + 1;
    const bool has_least = read_number(at, result.least);
    if (at < in_.size() && in_[at] == ',') {
      ++at;
      const bool has_most = read_number(at, result.most);
      if (!has_least && !has_most) return std::nullopt;
      result.open = !has_most;
    } else {
      if (!has_least) return std::nullopt;
      result.most = result.least;
      result.exact = true;
    }
    if (at >= in_.size() || in_[at] != '}') return std::nullopt;
    result.end = at + 1;
    return result;
  }
  bool is_interval() const { return interval().has_value(); }

  Status quantifier() {
    const size_t start = at_;
    std::string text;
    if (atom_.begin == kNone || !atom_.repeatable) return refuse("a quantifier without target");
    if (in_[at_] == '{') {
      const Interval range = *interval();
      if (range.least > kMaxRepeat || range.most > kMaxRepeat) return refuse("a repeat above 1000");
      if (!range.open && range.most < range.least) return refuse("a repeat with max below min");
      text = range.open ? fmt::format("{{{},}}", range.least)
                        : fmt::format("{{{},{}}}", range.least, range.most);
      at_ = range.end;
      if (next_is("?")) {
        if (range.exact) return refuse_at("the quantifier {n}?", start);
        text += '?';
        ++at_;
      }
      // A '+' that follows repeats the whole once more: it is not possessive after an interval.
    } else {
      text = in_[at_++];
      if (next_is("?") || next_is("+")) text += in_[at_++];
    }
    if (atom_.quantified) {
      out_.insert(atom_.begin, "(?:");
      out_ += ')';
    }
    out_ += text;
    atom_.quantified = true;
    previous_letter_ = 0;
    return {};
  }

  Result<uint32_t> hex_digits(size_t least, size_t most) {
    uint32_t value = 0;
    size_t count = 0;
    while (more() && count < most && std::isxdigit(static_cast<unsigned char>(in_[at_])) != 0) {
      const char digit = in_[at_++];
      value = value * 16 + static_cast<uint32_t>(is_ascii_digit(static_cast<uint8_t>(digit))
                                                     ? digit - '0'
                                                     : (digit | 0x20) - 'a' + 10);
      ++count;
    }
    if (count < least) return refuse("an escape with too few hexadecimal digits");
    return value;
  }

  // The character of an escape such as \n, \x41 or \-; nullopt when it is not of that kind.
  // at_ stands after the backslash and moves only on success.
  Result<std::optional<uint32_t>> escaped_character() {
    const size_t start = at_;
    const uint32_t c = take_code_point();
    switch (c) {
      case 't':
        return std::optional<uint32_t>(0x09);
      case 'n':
        return std::optional<uint32_t>(0x0A);
      case 'v':
        return std::optional<uint32_t>(0x0B);
      case 'f':
        return std::optional<uint32_t>(0x0C);
      case 'r':
        return std::optional<uint32_t>(0x0D);
      case 'a':
        return std::optional<uint32_t>(0x07);
      case 'e':
        return std::optional<uint32_t>(0x1B);
      case 'x':
      case 'u':
        return std::optional<uint32_t>(TRY(hex_escape(c, start)));
      default:
        break;
    }
    if (!is_ascii_letter(c) && !is_ascii_digit(c)) return std::optional<uint32_t>(c);
    at_ = start;
    return std::optional<uint32_t>();
  }

  Result<uint32_t> hex_escape(uint32_t kind, size_t start) {
    uint32_t value = 0;
    if (kind == 'x' && take("{")) {
      value = TRY(hex_digits(1, 6));
      if (!take("}")) return refuse("an unclosed \\x{...}");
    } else if (kind == 'x') {
      value = TRY(hex_digits(1, 2));
      if (value >= 0x80) return refuse_at("a raw byte escape", start);
    } else {
      value = TRY(hex_digits(4, 4));
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      return refuse_at("an escape outside of Unicode", start);
    }
    return value;
  }

  // \w \S \p{..} and the like as a set; nullopt when it is another escape.
  Result<std::optional<CharacterSet>> escaped_set(bool ignore_case, bool in_class) {
    const size_t start = at_;
    const char letter = in_[at_];
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const bool negated = letter != lower;
    if (lower != 'w' && lower != 's' && lower != 'd' && lower != 'h' && lower != 'p') {
      return std::optional<CharacterSet>();
    }
    ++at_;
    if (ignore_case && (lower == 'w' || lower == 'p')) {
      return refuse_at("a class of letters where case is ignored", start);
    }
    if (lower != 'p') {
      const CharacterSet set = in_class || lower != 'w' ? escape_set(lower) : bare_word_set();
      return std::optional<CharacterSet>(negated ? complement(set) : set);
    }
    return std::optional<CharacterSet>(TRY(property(negated, start)));
  }

  Result<CharacterSet> property(bool negated, size_t start) {
    if (!take("{")) return refuse_at("\\p without braces", start);
    if (take("^")) negated = !negated;
    const size_t close = in_.find('}', at_);
    if (close == std::string_view::npos) return refuse_at("an unclosed \\p{...}", start);
    const std::string_view name = in_.substr(at_, close - at_);
    at_ = close + 1;
    const auto set = property_set(name);
    if (!set) return refuse_at(fmt::format("the property \"{}\"", name), start);
    return negated ? complement(*set) : *set;
  }

  Status escape(bool ignore_case) {
    const size_t start = at_;
    ++at_;
    if (!more()) return refuse("a backslash at the end");
    if (auto set = TRY(escaped_set(ignore_case, false))) {
      begin_atom(true);
      out_ += set->expression(false);
      return {};
    }
    const auto character = TRY(escaped_character());
    if (character) return literal_term(*character, ignore_case, start);
    return special_escape(start);
  }

  Status special_escape(size_t start) {
    const char letter = in_[at_++];
    const std::string word = bare_word_set().expression(false);
    switch (letter) {
      case 'b':
        begin_atom(false);
        out_ += fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word);
        return {};
      case 'B':
        begin_atom(false);
        out_ += fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
        return {};
      case 'A':
      case 'z':
      case 'Z':
        begin_atom(false);
        out_ += '\\';
        out_ += letter;
        return {};
      case 'R':
        begin_atom(true);
        out_ += "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])";
        return {};
      default:
        return refuse_at(fmt::format("the escape \\{}", letter), start);
    }
  }

  // From '[' to its ']'.
  Result<CharacterSet> character_class(int depth, bool ignore_case) {
    const size_t start = at_;
    if (depth > kMaxPatternDepth) return refuse("nesting deeper than 64 classes");
    ++at_;
    const bool negated = take("^");
    if (next_is("]")) return refuse("a class that begins with ']'");
    std::optional<CharacterSet> before;  // the operands of && so far
    CharacterSet set;
    while (more() && in_[at_] != ']') {
      if (take("&&")) {
        before = before ? intersection(*before, set) : set;
        set = {};
      } else {
        TRY(class_item(set, depth, ignore_case));
      }
    }
    if (!take("]")) return refuse_at("an unclosed class", start);
    if (before) set = intersection(*before, set);
    if (negated && ignore_case && !set.alternatives.empty()) {
      return refuse_at("a negated class of classes where case is ignored", start);
    }
    if (negated) return complement(set);
    return set;
  }

  Status class_item(CharacterSet& set, int depth, bool ignore_case) {
    const size_t start = at_;
    if (next_is("[:")) {
      const size_t close = in_.find(":]", at_);
      if (close != std::string_view::npos) return posix_item(set, close, ignore_case);
    }
    if (next_is("[")) {
      set.add(TRY(character_class(depth + 1, ignore_case)));
      return {};
    }
    if (next_is("\\")) {
      ++at_;
      if (!more()) return refuse("a backslash at the end");
      if (auto inner = TRY(escaped_set(ignore_case, true))) {
        set.add(*inner);
        // "[\w-x]": the hyphen stands for itself, as set_item() writes it.
        if (next_is("-") && !next_is("-]")) return refuse("a range that begins with a class");
        return {};
      }
      at_ = start;
    }
    const uint32_t first = TRY(class_character());
    uint32_t last = first;
    if (next_is("-") && at_ + 1 < in_.size() && in_[at_ + 1] != ']') {
      ++at_;
      if (next_is("[")) return refuse("a range that ends with a class");
      last = TRY(class_character());
      if (last < first) return refuse_at("a range with its ends swapped", start);
    }
    if (ignore_case && last >= 0x80)
      return refuse_at("a non-ASCII letter where case is ignored", start);
    set.items += set_item(first);
    if (last != first) set.items.append("-").append(set_item(last));
    return {};
  }

  Status posix_item(CharacterSet& set, size_t close, bool ignore_case) {
    const size_t start = at_;
    at_ += 2;
    const bool negated = take("^");
    const std::string_view name = in_.substr(at_, close - at_);
    const auto inner = posix_set(name);
    if (!inner) return refuse_at(fmt::format("the class [:{}:]", name), start);
    if (ignore_case) return refuse_at("a class of letters where case is ignored", start);
    at_ = close + 2;
    set.add(negated ? complement(*inner) : *inner);
    return {};
  }

  Result<uint32_t> class_character() {
    const size_t start = at_;
    if (!take("\\")) {
      if (!more()) return refuse("an unclosed class");
      if (next_is("&&")) return refuse("&& as the end of a range");
      return take_code_point();
    }
    if (!more()) return refuse("a backslash at the end");
    const auto character = TRY(escaped_character());
    if (character) return *character;
    return refuse_at(fmt::format("the escape \\{} in a class", in_[at_]), start);
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  Atom atom_;
  uint32_t previous_letter_ = 0;  // the literal just before, 0 when there is none
};

}  // namespace

Result<std::string> pcre2_from_oniguruma(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return unsupported(fmt::format("regular expression of {} bytes, the limit is {}",
                                   pattern.size(), kMaxPatternBytes));
  }
  return Translator(pattern).run();
}

std::string pcre2_literal(std::string_view text) {
  std::string pattern;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.size;
    pattern += literal(point.value);
  }
  return pattern;
}

}  // namespace moe::text
