#include "text/tokenizer/utf8.hpp"

#include <gtest/gtest.h>

#include "text/tokenizer/unicode.hpp"

namespace moe::text {
namespace {

std::string repaired(std::string_view bytes, size_t step) {
  Utf8Repair repair;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) repair.push(bytes.substr(at, step), out);
  repair.finish(out);
  return out;
}

TEST(Utf8Repair, EachMaximalInvalidPartBecomesOneReplacement) {
  const std::string r(kReplacementCharacter);
  const struct {
    std::string bytes;
    std::string text;
  } cases[] = {
      {"a\xE2\x82\xAC", "a\xE2\x82\xAC"},
      {"\xE2\x82", r},
      {"\xE2\x82z", r + "z"},
      {"\xE2\xE2\x82\xAC", r + "\xE2\x82\xAC"},
      {"\xF0\x9F\x98", r},
      {"\xF0\x80\x80\x80", r + r + r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xC0\xAF\x80", r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xFF\xFE", r + r},
  };
  for (const auto& one : cases) {
    for (size_t step = 1; step <= 4; ++step) EXPECT_EQ(repaired(one.bytes, step), one.text);
  }
}

TEST(Unicode, NormalFormsOfLongMarkRuns) {
  std::string text = "e";
  std::string expected = "\xC3\xA8";  // è, then all grave accents below, then the acutes
  for (int i = 0; i < 100'000; ++i) text += "\xCC\x81\xCC\x96";
  text.insert(1, "\xCC\x80");
  for (int i = 0; i < 100'000; ++i) expected += "\xCC\x96";
  for (int i = 0; i < 100'000; ++i) expected += "\xCC\x81";
  std::string out;
  append_normalized(out, text, NormalForm::kNfc);
  EXPECT_EQ(out, expected);
}

TEST(Unicode, NormalizationIsThatOfTheLibrary) {
  const auto nfkc = [](std::string_view text) {
    std::string out;
    append_normalized(out, text, NormalForm::kNfkc);
    return out;
  };
  EXPECT_EQ(nfkc("\xEF\xAC\x81"), "fi");
  EXPECT_EQ(nfkc("\xE3\x8B\xBF"), "\xE3\x8B\xBF");  // U+32FF is newer than the library's tables
  EXPECT_EQ(nfkc("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8"), "\xEA\xB0\x81");
  EXPECT_EQ(nfkc("\xE1\xBA\x9B\xCC\xA3"), "\xE1\xB9\xA9");
}

TEST(Unicode, LowercaseWithoutContext) {
  std::string out;
  for (const uint32_t c : {0x41u, 0x130u, 0x3A3u, 0x10D50u}) append_lowercase(out, c);
  EXPECT_EQ(out, "ai\xCC\x87\xCF\x83\xF0\x90\xB5\xB0");
}

}  // namespace
}  // namespace moe::text
