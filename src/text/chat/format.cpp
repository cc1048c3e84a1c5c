// "..." % values and "...".format(...).
#include <fmt/format.h>

#include <cmath>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/format_spec.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/numbers.hpp"
#include "text/chat/operators.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {
namespace {

// One rendering of "format" % value.
class PercentFormat {
 public:
  PercentFormat(Interp& interp, const Text& format, const Value& value)
      : interp_(interp), format_(format), value_(value), out_(interp.text_builder()) {
    if (value.is(Kind::kTuple)) {
      positional_ = value.items();
    } else {
      positional_ = {value};
    }
  }

  Result<Value> run() {
    const std::string& text = format_.bytes;
    while (position_ < text.size()) {
      const size_t percent = std::min(text.find('%', position_), text.size());
      out_.append_slice(format_, position_, percent);
      position_ = percent + 1;
      if (percent < text.size()) TRY(convert());
    }
    const bool unused = next_ < positional_.size() && !named_ && !value_.is(Kind::kDict) &&
                        !value_.is(Kind::kUndefined) && !value_.is(Kind::kList);
    if (unused && !(positional_.size() == 1 && value_.is(Kind::kObject))) {
      return invalid_argument("not all arguments converted during string formatting");
    }
    return interp_.make_text(std::move(out_));
  }

 private:
  char peek() const { return position_ < format_.bytes.size() ? format_.bytes[position_] : '\0'; }

  Result<Value> take() {
    if (next_ >= positional_.size()) {
      return invalid_argument("not enough arguments for format string");
    }
    return positional_[next_++];
  }

  Result<Value> take_named() {
    const size_t close = format_.bytes.find(')', position_);
    if (close == std::string::npos) return invalid_argument("incomplete format key");
    const std::string key = format_.bytes.substr(position_ + 1, close - position_ - 1);
    position_ = close + 1;
    named_ = true;
    if (!value_.is(Kind::kDict)) return invalid_argument("format requires a mapping");
    const Value* found = value_.as_dict().find(key);
    if (found == nullptr) return invalid_argument(fmt::format("format key '{}' is missing", key));
    return *found;
  }

  Result<size_t> count() {
    if (peek() != '*') return parse_count(interp_, format_.bytes, position_);
    return unsupported("'*' in a % format is not supported");
  }

  Status convert() {
    Value value;
    if (peek() == '(') value = TRY(take_named());
    FormatSpec spec;
    bool left = false;
    bool zero = false;
    for (; std::string_view("-+ #0").find(peek()) != std::string_view::npos && peek() != '\0';
         ++position_) {
      left = left || peek() == '-';
      zero = zero || peek() == '0';
      spec.alternate = spec.alternate || peek() == '#';
      if (peek() == '+' || (peek() == ' ' && spec.sign != '+')) spec.sign = peek();
    }
    spec.width = TRY(count());
    if (peek() == '.') {
      ++position_;
      spec.precision = static_cast<int>(TRY(count()));
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++position_;
    const char type = peek();
    if (type == '\0') return invalid_argument("incomplete format");
    ++position_;
    if (type == '%') {
      out_.append("%");
      return {};
    }
    if (value.is(Kind::kMissing)) value = TRY(take());
    spec.align = left ? '<' : zero ? '=' : '>';
    if (zero && !left) spec.fill = "0";
    return append(type, value, spec);
  }

  Status append(char type, const Value& value, FormatSpec spec) {
    if (type == 's' || type == 'r' || type == 'a') return append_as_text(type, value, spec);
    if (value.is(Kind::kUndefined)) return undefined_error(value);
    if (type == 'c') {
      if (value.is_text() && value.as_text().length == 1) return append_as_text('s', value, spec);
      return unsupported("the % format type 'c' is supported for one character only");
    }
    if (!value.is_number()) return type_error(fmt::format("%{} format", type), value, "a number");
    const bool integer = std::string_view("diuxXo").find(type) != std::string_view::npos;
    const bool real = std::string_view("eEfFgG").find(type) != std::string_view::npos;
    if (!integer && !real) {
      return invalid_argument(fmt::format("unsupported format character '{}'", type));
    }
    spec.type = type == 'i' || type == 'u' ? 'd' : type;
    if (real) return append_formatted(interp_, out_, Value::floating(value.to_double()), spec);
    if (spec.precision >= 0) {
      return unsupported("a precision in a % format of an integer is not supported");
    }
    if (value.is_integral()) return append_formatted(interp_, out_, value, spec);
    if (type == 'x' || type == 'X' || type == 'o') return type_error("%x format", value, "int");
    const double whole = std::trunc(value.as_float());
    if (!(whole >= -0x1p63 && whole < 0x1p63)) {
      return unsupported("a float that does not fit a 64-bit integer cannot be formatted as one");
    }
    return append_formatted(interp_, out_, Value::integer(static_cast<int64_t>(whole)), spec);
  }

  Status append_as_text(char type, const Value& value, FormatSpec spec) {
    if (type == 'a') return unsupported("the % format type 'a' is not supported");
    TextBuilder body = interp_.text_builder();
    TRY(type == 's' ? append_str(body, value) : append_repr(body, value));
    spec.type = 's';
    spec.sign = '-';
    spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    return append_formatted(interp_, out_, TRY(interp_.make_text(std::move(body))), spec);
  }

  Interp& interp_;
  const Text& format_;
  const Value& value_;
  TextBuilder out_;
  std::vector<Value> positional_;
  size_t next_ = 0;
  size_t position_ = 0;
  bool named_ = false;
};

// One rendering of "format".format(args).
class BraceFormat {
 public:
  BraceFormat(Interp& interp, const Text& format, Args& args)
      : interp_(interp), format_(format), args_(args), out_(interp.text_builder()) {}

  Result<Value> run() {
    const std::string& text = format_.bytes;
    for (size_t p = 0; p < text.size();) {
      const size_t brace = std::min(text.find_first_of("{}", p), text.size());
      out_.append_slice(format_, p, brace);
      if (brace == text.size()) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out_.append_slice(format_, brace, brace + 1);
        p = brace + 2;
        continue;
      }
      if (text[brace] == '}') return invalid_argument("single '}' in format string");
      const size_t close = text.find('}', brace);
      if (close == std::string::npos) return invalid_argument("expected '}' in format string");
      TRY(append_field(std::string_view(text).substr(brace + 1, close - brace - 1)));
      p = close + 1;
    }
    return interp_.make_text(std::move(out_));
  }

 private:
  Status append_field(std::string_view field) {
    if (field.find('{') != std::string_view::npos) {
      return unsupported("nested fields in a format string are not supported");
    }
    const size_t colon = std::min(field.find(':'), field.size());
    std::string_view path = field.substr(0, colon);
    char conversion = 0;
    const size_t bang = path.find('!');
    if (bang != std::string_view::npos) {
      if (bang + 2 != path.size()) return invalid_argument("invalid conversion in format string");
      conversion = path[bang + 1];
      path = path.substr(0, bang);
    }
    Value value = TRY(resolve(path));
    if (conversion == 'r') {
      TextBuilder body = interp_.text_builder();
      TRY(append_repr(body, value));
      value = TRY(interp_.make_text(std::move(body)));
    } else if (conversion == 's') {
      value = TRY(to_text(interp_, value));
    } else if (conversion != 0) {
      return unsupported("only the conversions !r and !s are supported in a format string");
    }
    const std::string_view spec = colon == field.size() ? "" : field.substr(colon + 1);
    return append_formatted(interp_, out_, value, TRY(parse_format_spec(interp_, spec)));
  }

  Result<Value> resolve(std::string_view path) {
    size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = TRY(argument(path.substr(0, end)));
    while (end < path.size()) {
      if (path[end] == '.') {
        const size_t next = std::min(path.find_first_of(".[", end + 1), path.size());
        value = TRY(interp_.attribute(value, path.substr(end + 1, next - end - 1)));
        end = next;
        continue;
      }
      const size_t close = path.find(']', end);
      if (path[end] != '[' || close == std::string_view::npos) {
        return invalid_argument("malformed field in a format string");
      }
      const std::string key(path.substr(end + 1, close - end - 1));
      const auto index = parse_python_int(key, 10);
      const bool is_index = !key.empty() && key.find_first_not_of("0123456789") == key.npos;
      value = TRY(interp_.item(value, is_index && index.status == ParsedInt::kOk
                                          ? Value::integer(index.value)
                                          : Value::literal(key)));
      end = close + 1;
    }
    return value;
  }

  Result<Value> argument(std::string_view name) {
    if (name.empty() || name.find_first_not_of("0123456789") == name.npos) {
      const auto parsed = parse_python_int(name, 10);
      const size_t index = name.empty()                      ? next_++
                           : parsed.status == ParsedInt::kOk ? static_cast<size_t>(parsed.value)
                                                             : args_.positional.size();
      (name.empty() ? automatic_ : manual_) = true;
      if (automatic_ && manual_) {
        return invalid_argument("a format string mixes numbered and unnumbered fields");
      }
      if (index < args_.positional.size()) return args_.positional[index];
      return invalid_argument("a format string refers to an argument that is not there");
    }
    for (const auto& [key, value] : args_.keyword) {
      if (key == name) return value;
    }
    return invalid_argument(fmt::format("a format string refers to the unknown name '{}'", name));
  }

  Interp& interp_;
  const Text& format_;
  Args& args_;
  TextBuilder out_;
  size_t next_ = 0;
  bool automatic_ = false;
  bool manual_ = false;
};

}  // namespace

Result<Value> format_percent(Interp& interp, const Text& format, const Value& value) {
  return PercentFormat(interp, format, value).run();
}

Result<Value> format_braces(Interp& interp, const Text& format, Args& args) {
  if (format.markup) return unsupported("format() on text marked safe is not supported");
  return BraceFormat(interp, format, args).run();
}

}  // namespace moe::text::jinja
