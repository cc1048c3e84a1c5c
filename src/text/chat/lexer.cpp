#include "text/chat/lexer.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

#include "base/errors.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/unicode.hpp"

namespace moe::text::jinja {
namespace {

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Line ends as \n, and without the last one, as jinja2 reads a source.
std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text.push_back(source[i]);
      continue;
    }
    text.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Lexer {
 public:
  Lexer(std::string source, std::string_view name) : source_(std::move(source)), name_(name) {}

  Result<std::vector<Token>> run() {
    while (position_ < source_.size()) TRY(lex_root());
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Error fail(const std::string& what) const {
    return corrupt(fmt::format("{}:{}: {}", name_, line_at(position_), what),
                   "mend the template or restore it from its source");
  }
  int line_at(size_t position) const {
    for (; counted_ < position; ++counted_) line_ += source_[counted_] == '\n' ? 1 : 0;
    return line_;
  }
  std::string_view rest() const { return std::string_view(source_).substr(position_); }
  bool at(std::string_view text) const { return rest().starts_with(text); }
  void push(TokenKind kind, std::string text) {
    tokens_.push_back({kind, line_at(position_), std::move(text), {}});
  }
  size_t skip_space(size_t position) const {
    while (position < source_.size()) {
      size_t next = position;
      if (!is_space(decode_next(source_, next))) break;
      position = next;
    }
    return position;
  }

  // Text up to the next tag, then the tag.
  Status lex_root() {
    size_t tag = position_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        push(TokenKind::kData, source_.substr(position_));
        position_ = source_.size();
        return {};
      }
      const char second = source_[tag + 1];
      if (second == '%' || second == '{' || second == '#') break;
    }
    const char second = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    push_data(tag, sign, second != '{');
    position_ = tag;
    const size_t raw_end = second == '%' ? end_of_raw_begin(tag) : 0;
    if (raw_end != 0) return lex_raw(raw_end);
    const size_t after = tag + (sign == '-' || sign == '+' ? 3 : 2);
    if (second == '#') return lex_comment(after);
    push(second == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    position_ = after;
    return lex_code(second == '%');
  }

  // The data in front of a tag at `tag`, less what whitespace control takes away.
  void push_data(size_t tag, char sign, bool strip_line) {
    std::string_view text = std::string_view(source_).substr(position_, tag - position_);
    if (sign == '-') {
      size_t end = text.size();
      while (end > 0) {
        size_t previous = end;
        if (!is_space(decode_previous(text, previous))) break;
        end = previous;
      }
      text = text.substr(0, end);
    } else if (sign != '+' && strip_line) {
      const size_t newline = text.rfind('\n');
      const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line_start > 0 || line_starting_) && only_space(text.substr(line_start))) {
        text = text.substr(0, line_start);
      }
    }
    if (!text.empty()) push(TokenKind::kData, std::string(text));
  }

  static bool only_space(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      if (!is_space(decode_next(text, i))) return false;
    }
    return true;
  }

  // End of `{% raw %}` at `tag`, 0 when there is none.
  size_t end_of_raw_begin(size_t tag) const {
    size_t p = tag + 2;
    if (p < source_.size() && (source_[p] == '-' || source_[p] == '+')) ++p;
    p = skip_space(p);
    if (source_.compare(p, 3, "raw") != 0) return 0;
    p = skip_space(p + 3);
    if (source_.compare(p, 3, "-%}") == 0) return skip_space(p + 3);
    return source_.compare(p, 2, "%}") == 0 ? p + 2 : 0;
  }

  Status lex_raw(size_t begin) {
    line_starting_ = source_[begin - 1] == '\n';
    for (size_t tag = source_.find("{%", begin); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      size_t p = tag + 2;
      const char sign = p < source_.size() ? source_[p] : '\0';
      if (sign == '-' || sign == '+') ++p;
      p = skip_space(p);
      if (source_.compare(p, 6, "endraw") != 0) continue;
      const size_t end = end_of_tag(skip_space(p + 6), "%}");
      if (end == 0) continue;
      position_ = begin;
      push_data(tag, sign, true);
      finish_tag(end);
      return {};
    }
    return fail("missing {% endraw %}");
  }

  Status lex_comment(size_t begin) {
    const size_t close = source_.find("#}", begin);
    if (close == std::string::npos) return fail("missing end of comment #}");
    const char sign = close > begin ? source_[close - 1] : '\0';
    finish_tag(end_of_tag(sign == '-' || sign == '+' ? close - 1 : close, "#}"));
    return {};
  }

  // Past `%}`, `-%}` or `+%}` at p, with the whitespace that it takes; 0 when none stands there.
  size_t end_of_tag(size_t p, std::string_view close) const {
    const char sign = p < source_.size() ? source_[p] : '\0';
    if (sign == '-' || sign == '+') ++p;
    if (source_.compare(p, 2, close) != 0) return 0;
    p += 2;
    if (sign == '-') return skip_space(p);
    if (sign != '+' && p < source_.size() && source_[p] == '\n') ++p;
    return p;
  }

  void finish_tag(size_t end) {
    position_ = end;
    line_starting_ = source_[end - 1] == '\n';
  }

  // Past `}}` or `-}}` at the current position, 0 when none stands there.
  size_t end_of_variable() const {
    if (at("-}}")) return skip_space(position_ + 3);
    return at("}}") ? position_ + 2 : 0;
  }

  // Expression tokens up to the end of the tag.
  Status lex_code(bool block) {
    std::string open;
    while (true) {
      if (open.empty()) {
        const size_t end = block ? end_of_tag(position_, "%}") : end_of_variable();
        if (end != 0) {
          push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
          finish_tag(end);
          return {};
        }
      }
      const size_t next = skip_space(position_);
      if (next != position_) {
        position_ = next;
        continue;
      }
      if (position_ >= source_.size()) {
        return fail(block ? "the tag {% is not closed" : "the tag {{ is not closed");
      }
      TRY(lex_token(open));
    }
  }

  Status lex_token(std::string& open) {
    const char c = source_[position_];
    if (is_ascii_digit(c)) return lex_number();
    if (c == '"' || c == '\'') return lex_string();
    size_t end = position_;
    while (end < source_.size()) {
      size_t next = end;
      if (!is_word(decode_next(source_, next))) break;
      end = next;
    }
    if (end > position_) {
      std::string word = source_.substr(position_, end - position_);
      if (!is_identifier(word)) return fail(fmt::format("invalid identifier '{}'", word));
      push(TokenKind::kName, std::move(word));
      position_ = end;
      return {};
    }
    for (std::string_view op : kOperators) {
      if (!at(op)) continue;
      TRY(balance(op[0], open));
      push(TokenKind::kOperator, std::string(op));
      position_ += op.size();
      return {};
    }
    size_t next = position_;
    decode_next(source_, next);
    return fail(
        fmt::format("unexpected character '{}'", source_.substr(position_, next - position_)));
  }

  Status balance(char c, std::string& open) const {
    if (c == '(') open.push_back(')');
    if (c == '[') open.push_back(']');
    if (c == '{') open.push_back('}');
    if (c != ')' && c != ']' && c != '}') return {};
    if (open.empty()) return fail(fmt::format("unexpected '{}'", c));
    if (open.back() != c)
      return fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
    open.pop_back();
    return {};
  }

  // Digits with single underscores between them, from p on; returns their end.
  size_t skip_digits(size_t p) const {
    while (p < source_.size() &&
           (is_ascii_digit(source_[p]) ||
            (source_[p] == '_' && p + 1 < source_.size() && is_ascii_digit(source_[p + 1]) &&
             p > 0 && is_ascii_digit(source_[p - 1])))) {
      ++p;
    }
    return p;
  }

  // End of the fraction and exponent after the digits that end at p; p itself when it is no float.
  size_t end_of_float(size_t p) const {
    size_t end = p;
    if (p + 1 < source_.size() && source_[p] == '.' && is_ascii_digit(source_[p + 1])) {
      end = skip_digits(p + 1);
    }
    if (end >= source_.size() || (source_[end] != 'e' && source_[end] != 'E')) return end;
    size_t exponent = end + 1;
    if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) {
      ++exponent;
    }
    if (exponent >= source_.size() || !is_ascii_digit(source_[exponent])) return end;
    return skip_digits(exponent);
  }

  Status lex_number() {
    const size_t begin = position_;
    const size_t digits = skip_digits(begin);
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    const size_t float_end = after_dot ? digits : end_of_float(digits);
    Value number;
    size_t end = float_end;
    if (float_end != digits) {
      number = Value::floating(*parse_python_float(source_.substr(begin, end - begin)));
    } else {
      end = end_of_integer(begin, digits);
      const auto parsed = parse_python_int(source_.substr(begin, end - begin), 0);
      if (parsed.status != ParsedInt::kOk) return fail("integer does not fit 64 bits");
      number = Value::integer(parsed.value);
    }
    tokens_.push_back(
        {TokenKind::kNumber, line_at(begin), source_.substr(begin, end - begin), number});
    position_ = end;
    return {};
  }

  size_t end_of_integer(size_t begin, size_t digits) const {
    if (source_[begin] != '0') return digits;
    const char kind = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 0x20) : 0;
    const std::string_view allowed = kind == 'x'   ? "0123456789abcdefABCDEF"
                                     : kind == 'o' ? "01234567"
                                     : kind == 'b' ? "01"
                                                   : "";
    size_t p = begin + 2;
    while (p < source_.size() && allowed.find(source_[p]) != std::string_view::npos) ++p;
    if (!allowed.empty() && p > begin + 2) return p;
    p = begin + 1;
    while (p < source_.size() && source_[p] == '0') ++p;
    return p;
  }

  Status lex_string() {
    const char quote = source_[position_];
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return fail("string is not closed");
    const std::string_view body =
        std::string_view(source_).substr(position_ + 1, end - position_ - 1);
    std::string text;
    for (size_t i = 0; i < body.size();) {
      if (body[i] == '\\') {
        TRY(unescape(body, i, text));
      } else {
        text.push_back(body[i++]);
      }
    }
    push(TokenKind::kString, std::move(text));
    position_ = end + 1;
    return {};
  }

  // One escape at body[i]; i is moved past it.
  Status unescape(std::string_view body, size_t& i, std::string& out) const {
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
    const char c = body[i + 1];
    i += 2;
    if (c == '\n') return {};
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      out.push_back(kValues[known]);
      return {};
    }
    if (c == 'N') return fail("the string escape \\N{...} is not supported");
    if (c >= '0' && c <= '7') {
      --i;
      char32_t value = 0;
      for (size_t n = 0; n < 3 && i < body.size() && body[i] >= '0' && body[i] <= '7'; ++n) {
        value = value * 8 + static_cast<char32_t>(body[i++] - '0');
      }
      append_utf8(out, value);
      return {};
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      out.push_back('\\');
      out.push_back(c);
      return {};
    }
    const std::string hex(body.substr(i, digits));
    if (hex.size() != digits || hex.find_first_not_of("0123456789abcdefABCDEF") != hex.npos) {
      return fail(fmt::format("truncated string escape \\{}", c));
    }
    const auto value = static_cast<char32_t>(std::strtoul(hex.c_str(), nullptr, 16));
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
      return fail(fmt::format("the string escape \\{}{} is no character", c, hex));
    }
    append_utf8(out, value);
    i += digits;
    return {};
  }

  const std::string source_;
  const std::string_view name_;
  size_t position_ = 0;
  bool line_starting_ = true;
  // Lines are asked for in ascending order, so counting goes on from the last place.
  mutable size_t counted_ = 0;
  mutable int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name) {
  return Lexer(normalized(source), name).run();
}

}  // namespace moe::text::jinja
