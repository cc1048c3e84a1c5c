#include "text/tokenizer/onig_class.hpp"

#include <fmt/format.h>

#include <cctype>

#include "text/tokenizer/unicode_tables.hpp"

namespace moe::text {
namespace {

std::string ranges_text(Ranges ranges) {
  std::string text;
  for (const CodePointRange& range : ranges) {
    text += range.first == range.last
                ? fmt::format("\\x{{{:x}}}", range.first)
                : fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", range.first, range.last);
  }
  return text;
}

std::string loose(std::string_view name) {
  std::string key;
  for (const char letter : name) {
    if (letter == ' ' || letter == '-' || letter == '_') continue;
    key.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  }
  return key;
}

struct Alias {
  std::string_view loose_name;
  std::string_view name;
};

// Names of categories whose members agree with PCRE2 apart from the corrections table.
constexpr Alias kCategories[] = {
    {"l", "L"},
    {"letter", "L"},
    {"lu", "Lu"},
    {"uppercaseletter", "Lu"},
    {"ll", "Ll"},
    {"lowercaseletter", "Ll"},
    {"lt", "Lt"},
    {"titlecaseletter", "Lt"},
    {"lm", "Lm"},
    {"modifierletter", "Lm"},
    {"lo", "Lo"},
    {"otherletter", "Lo"},
    {"m", "M"},
    {"mark", "M"},
    {"mn", "Mn"},
    {"nonspacingmark", "Mn"},
    {"mc", "Mc"},
    {"spacingmark", "Mc"},
    {"me", "Me"},
    {"enclosingmark", "Me"},
    {"n", "N"},
    {"number", "N"},
    {"nd", "Nd"},
    {"decimalnumber", "Nd"},
    {"nl", "Nl"},
    {"letternumber", "Nl"},
    {"no", "No"},
    {"othernumber", "No"},
    {"p", "P"},
    {"punctuation", "P"},
    {"pc", "Pc"},
    {"connectorpunctuation", "Pc"},
    {"pd", "Pd"},
    {"dashpunctuation", "Pd"},
    {"ps", "Ps"},
    {"openpunctuation", "Ps"},
    {"pe", "Pe"},
    {"closepunctuation", "Pe"},
    {"pi", "Pi"},
    {"initialpunctuation", "Pi"},
    {"pf", "Pf"},
    {"finalpunctuation", "Pf"},
    {"po", "Po"},
    {"otherpunctuation", "Po"},
    {"s", "S"},
    {"symbol", "S"},
    {"sm", "Sm"},
    {"mathsymbol", "Sm"},
    {"sc", "Sc"},
    {"currencysymbol", "Sc"},
    {"sk", "Sk"},
    {"modifiersymbol", "Sk"},
    {"so", "So"},
    {"othersymbol", "So"},
    {"z", "Z"},
    {"separator", "Z"},
    {"zs", "Zs"},
    {"spaceseparator", "Zs"},
    {"zl", "Zl"},
    {"lineseparator", "Zl"},
    {"zp", "Zp"},
    {"paragraphseparator", "Zp"},
    {"cc", "Cc"},
    {"control", "Cc"},
    {"cf", "Cf"},
    {"format", "Cf"},
    {"co", "Co"},
    {"privateuse", "Co"},
    {"uppercase", "Uppercase"},
    {"lowercase", "Lowercase"},
    {"alphabetic", "Alphabetic"},
};

// Scripts whose corrections are known; `\p{name}` means the Script property, not its extensions.
constexpr std::string_view kScripts[] = {
    "Han",       "Hiragana", "Katakana", "Latin",    "Cyrillic",   "Greek",
    "Thai",      "Hangul",   "Arabic",   "Hebrew",   "Devanagari", "Common",
    "Inherited", "Bengali",  "Tamil",    "Khmer",    "Lao",        "Tibetan",
    "Myanmar",   "Georgian", "Armenian", "Ethiopic", "Mongolian",  "Bopomofo"};

CharacterSet items(std::string text) { return {std::move(text), {}}; }

CharacterSet named(std::string_view name, std::string_view prefix = "") {
  std::string text = fmt::format("\\p{{{}{}}}", prefix, name);
  for (const PropertyRow& row : property_rows()) {
    if (row.name == name) text += ranges_text(row.added);
  }
  return items(std::move(text));
}

CharacterSet unassigned() {
  return intersection(items("\\p{Cn}"), complement(items(ranges_text(assigned_since()))));
}

CharacterSet union_of(CharacterSet a, const CharacterSet& b) {
  a.add(b);
  return a;
}

}  // namespace

void CharacterSet::add(const CharacterSet& other) {
  items += other.items;
  alternatives.insert(alternatives.end(), other.alternatives.begin(), other.alternatives.end());
}

std::string CharacterSet::expression(bool negated) const {
  constexpr std::string_view kNothing = "(?!)";
  constexpr std::string_view kAnything = "(?s:.)";
  if (alternatives.empty()) {
    if (items.empty()) return std::string(negated ? kAnything : kNothing);
    return fmt::format("[{}{}]", negated ? "^" : "", items);
  }
  if (items.empty() && alternatives.size() == 1 && !negated) return alternatives.front();
  std::string any = "(?:";
  if (!items.empty()) any += fmt::format("[{}]|", items);
  for (const std::string& alternative : alternatives) any += alternative + "|";
  any.back() = ')';
  return negated ? fmt::format("(?:(?!{}){})", any, kAnything) : any;
}

CharacterSet intersection(const CharacterSet& a, const CharacterSet& b) {
  return {{}, {fmt::format("(?:(?={}){})", a.expression(false), b.expression(false))}};
}

CharacterSet complement(const CharacterSet& set) { return {{}, {set.expression(true)}}; }

std::string set_item(uint32_t code_point) {
  const bool alphanumeric = code_point < 0x80 && std::isalnum(static_cast<int>(code_point)) != 0;
  if (alphanumeric) return std::string(1, static_cast<char>(code_point));
  return fmt::format("\\x{{{:x}}}", code_point);
}

CharacterSet escape_set(char letter) {
  switch (letter) {
    case 's':
      return items("\\x{9}-\\x{d}\\x{20}\\x{85}\\p{Z}");
    case 'd':
      return named("Nd");
    case 'h':
      return items("0-9a-fA-F");
    default:
      break;
  }
  // \w: the letters among the symbols are circled and squared Latin letters (Other_Alphabetic).
  CharacterSet word = items(
      "\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"
      "\\x{1f170}-\\x{1f189}");
  for (const std::string_view name : {"L", "M", "Nd"}) word.add(named(name));
  return word;
}

CharacterSet bare_word_set() {
  return union_of(items("\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"), escape_set('w'));
}

std::optional<CharacterSet> posix_set(std::string_view name) {
  if (name == "alnum") return union_of(named("Alphabetic"), named("Nd"));
  if (name == "alpha") return named("Alphabetic");
  if (name == "ascii") return items("\\x{0}-\\x{7f}");
  if (name == "blank") return items("\\x{9}\\p{Zs}");
  if (name == "cntrl") return items("\\p{Cc}");
  if (name == "digit") return named("Nd");
  if (name == "lower") return named("Lowercase");
  if (name == "punct") return union_of(named("P"), named("S"));
  if (name == "space") return escape_set('s');
  if (name == "upper") return named("Uppercase");
  if (name == "word") return escape_set('w');
  if (name == "xdigit") return escape_set('h');
  return std::nullopt;
}

std::optional<CharacterSet> property_set(std::string_view name) {
  const std::string key = loose(name);
  for (const Alias& alias : kCategories) {
    if (alias.loose_name == key) return named(alias.name);
  }
  for (const std::string_view script : kScripts) {
    if (loose(script) == key) return named(script, "sc:");
  }
  if (key == "any") return items("\\x{0}-\\x{10ffff}");
  if (key == "cn" || key == "unassigned") return unassigned();
  if (key == "c" || key == "other") {
    return union_of(items("\\p{Cc}\\p{Co}\\p{Cs}"), union_of(named("Cf"), unassigned()));
  }
  if (key == "whitespace") return escape_set('s');
  // Its members differ inside and outside of brackets.
  if (key == "word") return std::nullopt;
  // As a property, "punct" is category P alone.
  if (key == "punct") return named("P");
  return posix_set(key);
}

}  // namespace moe::text
