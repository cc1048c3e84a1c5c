// Character classes of Oniguruma patterns as PCRE2 text: properties, POSIX names, \w \s \d \h,
// nested sets and intersections. Part of onig_pattern.hpp; not for other use. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moe::text {

// A set of characters under construction. `items` goes between brackets; `alternatives` are PCRE2
// expressions that match one character each. The set is their union.
struct CharacterSet {
  std::string items;
  std::vector<std::string> alternatives;

  void add(const CharacterSet& other);
  // A PCRE2 expression that matches one character of the set, or one outside of it.
  std::string expression(bool negated) const;
};

// One character that is in both.
CharacterSet intersection(const CharacterSet& a, const CharacterSet& b);
// All characters not in `set`.
CharacterSet complement(const CharacterSet& set);

// A literal character of a set, escaped.
std::string set_item(uint32_t code_point);

// `name` as in \p{name} (loose: case, spaces, '-' and '_' do not count); nullopt when the property
// is unknown here or its members are not certain.
std::optional<CharacterSet> property_set(std::string_view name);
// `name` as in [:name:].
std::optional<CharacterSet> posix_set(std::string_view name);
// 'w', 's', 'd' or 'h'.
CharacterSet escape_set(char letter);
// \w, \W, \b and \B outside of brackets: Oniguruma counts the Latin-1 numbers there, too.
CharacterSet bare_word_set();

}  // namespace moe::text
