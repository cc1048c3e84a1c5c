// Patterns: where Oniguruma and PCRE2 differ, what is refused, and the match limit.
#include "text/tokenizer/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/tokenizer/onig_pattern.hpp"

namespace moe::text {
namespace {

// The text with each match in brackets.
std::string marked(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::regex(pattern);
  if (!compiled) return "refused: " + compiled.error().message;
  std::vector<Match> matches;
  const Status found = compiled->find_all(text, matches);
  if (!found) return "failed: " + found.error().message;
  std::string result;
  size_t done = 0;
  for (const Match& match : matches) {
    result += text.substr(done, match.begin - done);
    result.append("[").append(text.substr(match.begin, match.end - match.begin)).append("]");
    done = match.end;
  }
  return result.append(text.substr(done));
}

// Expected values are those of the `tokenizers` library.
TEST(Pattern, ClassesAreThoseOfOniguruma) {
  EXPECT_EQ(marked(R"(\s+)", "a\xC2\x85\xE1\xA0\x8E\xC2\xA0"), "a[\xC2\x85]\xE1\xA0\x8E[\xC2\xA0]");
  EXPECT_EQ(marked(R"(\h+)", "\tx1fG"), "\tx[1f]G");
  EXPECT_EQ(marked(R"(\v)", "\n\v"), "\n[\v]");
  EXPECT_EQ(marked(R"(\w)", "\xC2\xB2_\xCC\x81-"), "[\xC2\xB2][_][\xCC\x81]-");
  EXPECT_EQ(marked(R"([\w])", "\xC2\xB2_\xCC\x81-"), "\xC2\xB2[_][\xCC\x81]-");
  EXPECT_EQ(marked(R"([[:punct:]])", "a$!"), "a[$][!]");
  EXPECT_EQ(marked(R"(\p{Punct})", "a$!"), "a$[!]");
  // U+1FA77 is newer than the Unicode of Debian 12's PCRE2.
  EXPECT_EQ(marked(R"(\p{S}|\P{Cn})", "\xF0\x9F\xA9\xB7"), "[\xF0\x9F\xA9\xB7]");
  // U+3001 has Han among its script extensions only.
  EXPECT_EQ(marked(R"(\p{Han}+)", "\xE5\xAD\x97\xE3\x80\x81"), "[\xE5\xAD\x97]\xE3\x80\x81");
  EXPECT_EQ(marked(R"([\p{L}&&[^a-c]]+)", "abcdef"), "abc[def]");
  EXPECT_EQ(marked(R"([^a[bc]])", "abcd"), "abc[d]");
}

TEST(Pattern, PlusAfterAnIntervalRepeatsIt) {
  EXPECT_EQ(marked(R"(\d{1,3}+)", "12345"), "[12345]");
  EXPECT_EQ(marked(R"(\d{1,3})", "12345"), "[123][45]");
  EXPECT_EQ(marked(R"(a{,2})", "aaa"), "[aa][a]");
  EXPECT_EQ(marked(R"(x{1)", "x{1"), "[x{1]");
  EXPECT_EQ(marked(R"(\d*+1)", "11"), "11");
}

TEST(Pattern, OptionsAndAnchors) {
  EXPECT_EQ(marked(R"(a(?i)b|c)", "aBacaCCc"), "[aB][ac][aC]Cc");
  EXPECT_EQ(marked(R"((?m:.))", "\n"), "[\n]");
  EXPECT_EQ(marked(R"(.)", "\n"), "\n");
  EXPECT_EQ(marked(R"(^.)", "ab\ncd"), "[a]b\n[c]d");
  EXPECT_EQ(marked(R"(.$)", "ab\ncd"), "a[b]\nc[d]");
  EXPECT_EQ(marked(R"(\s++$)", "a\n"), "a[\n]");
  EXPECT_EQ(marked(R"((?i:'s))", "'S'\xC5\xBF"), "['S]['\xC5\xBF]");
}

TEST(Pattern, EmptyMatches) {
  EXPECT_EQ(marked("", "ab"), "[]a[]b[]");
  EXPECT_EQ(marked("b*", "abc"), "[]a[b]c[]");
  EXPECT_EQ(marked("a|",
                   "\xC3\xA9"
                   "a"),
            "[]\xC3\xA9[a]");
}

TEST(Pattern, UncertainConstructsAreRefused) {
  for (const char* pattern :
       {R"((a)\1)",      R"((?<n>a))",  R"(\K)",       R"(\X)",         R"(\G)",
        R"(\pL)",        R"(\p{Nope})", R"(\p{Word})", R"((?i:\p{L}))", R"((?i:ss))",
        R"((?i:ﬁ))",     R"((?x)a)",    R"((?s:.))",   R"([]a])",       R"([\d-x])",
        R"(*a)",         R"((a)",       R"(a))",       R"([a)",         R"(a{3,2})",
        R"(a{2}?)",      R"(\xe9)",     R"(\x{d800})", R"(\Q)",         R"(a{1001})",
        R"([[:nope:]])", R"((?~a))",    R"((?(1)a))",  R"((*FAIL))",    R"([b-a])",
        R"((?<=a+)b)",   "\\",          "[\\",         "[a-\\",         "\\p{",
        "\\x{",          "\\u12",       "(?",          "(?#",           "(?i"}) {
    const auto compiled = Pattern::regex(pattern);
    ASSERT_FALSE(compiled.ok()) << pattern;
    EXPECT_EQ(compiled.error().code, ErrorCode::kUnsupported) << pattern;
  }
}

TEST(Pattern, Limits) {
  EXPECT_TRUE(pcre2_from_oniguruma(std::string(kMaxPatternBytes, 'a')).ok());
  EXPECT_FALSE(pcre2_from_oniguruma(std::string(kMaxPatternBytes + 1, 'a')).ok());
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "a" +
           std::string(static_cast<size_t>(depth), ')');
  };
  EXPECT_TRUE(pcre2_from_oniguruma(nested(kMaxPatternDepth)).ok());
  EXPECT_FALSE(pcre2_from_oniguruma(nested(kMaxPatternDepth + 1)).ok());
}

TEST(Pattern, EndlessBacktrackingIsAnErrorNotAnAnswer) {
  const auto pattern = Pattern::regex(R"((?:a+)+[^a])").value();
  std::vector<Match> matches;
  const Status found = pattern.find_all(std::string(64, 'a'), matches);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(found.error().message, testing::HasSubstr("limit"));
  EXPECT_FALSE(found.error().fix.empty());
}

TEST(Pattern, LiteralTextIsNotAnExpression) {
  const auto pattern = Pattern::literal(".*").value();
  std::vector<Match> matches;
  ASSERT_TRUE(pattern.find_all("a.*.*", matches).ok());
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[1].begin, 3u);
}

}  // namespace
}  // namespace moe::text
