// Errors of tokenizer.json, special tokens in trusted and plain text, streaming, limits.
#include "text/tokenizer/tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/json.hpp"
#include "text/tokenizer/tokenizer_json.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int32_t>;

// Characters a..e, space, '<', '>', '|', the byte tokens, two merges and two special tokens.
Json small_json() {
  Json vocab = Json::object();
  int id = 0;
  for (const char* token : {"a", "b", "c", "d", "e", " ", "<", ">", "|", "ab", "abc", "<unk>"}) {
    vocab[token] = id++;
  }
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = id++;
  Json root;
  root["version"] = "1.0";
  root["added_tokens"] = Json::array();
  for (const char* token : {"<|e|>", "<|b|>"}) {
    root["added_tokens"].push_back({{"id", id++},
                                    {"content", token},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  root["normalizer"] = nullptr;
  root["pre_tokenizer"] = nullptr;
  root["post_processor"] = nullptr;
  root["decoder"] = {{"type", "Sequence"},
                     {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}};
  root["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", "<unk>"},
                   {"fuse_unk", false},
                   {"byte_fallback", true},
                   {"vocab", vocab},
                   {"merges", Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})})}};
  return root;
}

constexpr int32_t kFirstByte = 12;
constexpr int32_t kEnd = kFirstByte + 256;  // <|e|>
constexpr int32_t kBegin = kEnd + 1;        // <|b|>

std::shared_ptr<const Tokenizer> load(const Json& root) {
  auto loaded = Tokenizer::from_json(root.dump(), "tokenizer.json");
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return loaded.ok() ? *loaded : nullptr;
}

Error failure(const Json& root) {
  auto loaded = Tokenizer::from_json(root.dump(), "tokenizer.json");
  if (loaded.ok()) return {ErrorCode::kInternal, "no error", ""};
  return loaded.error();
}

void expect_corrupt(const Json& root, const std::string& part) {
  const Error error = failure(root);
  EXPECT_EQ(error.code, ErrorCode::kCorrupt) << error.to_string();
  EXPECT_THAT(error.message, HasSubstr(part));
  EXPECT_FALSE(error.fix.empty());
}

void expect_unsupported(const Json& root, const std::string& part) {
  const Error error = failure(root);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported) << error.to_string();
  EXPECT_THAT(error.message, HasSubstr(part));
  EXPECT_FALSE(error.fix.empty());
}

Ids bytes(std::initializer_list<int> values) {
  Ids ids;
  for (const int value : values) ids.push_back(kFirstByte + value);
  return ids;
}

TEST(Tokenizer, MergesLowestRankFirst) {
  const auto tokenizer = load(small_json());
  EXPECT_EQ(tokenizer->encode("abcab", false).value(), (Ids{10, 9}));
  EXPECT_EQ(tokenizer->encode("", false).value(), Ids{});
}

TEST(Tokenizer, LegacyMergesGiveTheSame) {
  Json root = small_json();
  root["model"]["merges"] = {"#version: 0.2", "a b", "ab c"};
  EXPECT_EQ(load(root)->encode("abcab", false).value(), (Ids{10, 9}));
}

TEST(Tokenizer, LookUps) {
  const auto tokenizer = load(small_json());
  EXPECT_EQ(tokenizer->vocab_size(), kBegin + 1);
  EXPECT_EQ(tokenizer->token_to_id("<|b|>"), kBegin);
  EXPECT_EQ(tokenizer->token_to_id("abc"), 10);
  EXPECT_EQ(tokenizer->token_to_id("abcd"), std::nullopt);
  EXPECT_EQ(tokenizer->id_to_token(kEnd), "<|e|>");
  EXPECT_EQ(tokenizer->id_to_token(-1), std::nullopt);
  EXPECT_EQ(tokenizer->id_to_token(kBegin + 1), std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(kEnd));
  EXPECT_FALSE(tokenizer->is_special(0));
  EXPECT_EQ(tokenizer->added_tokens().size(), 2u);
}

TEST(Tokenizer, SpecialTextStaysTextWhenPlain) {
  const auto tokenizer = load(small_json());
  EXPECT_EQ(tokenizer->encode("a<|e|>b", false).value(), (Ids{0, kEnd, 1}));
  EXPECT_EQ(tokenizer->encode("a<|e|>b", false, SpecialTokens::kPlainText).value(),
            (Ids{0, 6, 8, 4, 8, 7, 1}));
}

TEST(Tokenizer, SegmentsDecideByPosition) {
  const auto tokenizer = load(small_json());
  const auto encode = [&](std::vector<Segment> segments) {
    return tokenizer->encode_segments(segments, false).value();
  };
  constexpr auto kTrusted = SpecialTokens::kParse;
  constexpr auto kUser = SpecialTokens::kPlainText;
  const Ids user_end = {6, 8, 4, 8, 7};
  EXPECT_EQ(encode({{"<|b|>", kTrusted}, {"ab", kUser}, {"<|e|>", kTrusted}}),
            (Ids{kBegin, 9, kEnd}));
  EXPECT_EQ(encode({{"<|b|>", kTrusted}, {"<|e|>", kUser}}), (Ids{kBegin, 6, 8, 4, 8, 7}));
  // A token put together from trusted and user text is text.
  EXPECT_EQ(encode({{"<|", kTrusted}, {"e|>", kUser}}), user_end);
  EXPECT_EQ(encode({{"<|e", kUser}, {"|>", kTrusted}}), user_end);
  EXPECT_EQ(encode({{"<|e", kUser}, {"|>", kUser}}), user_end);
  // User text cannot hide the trusted token that follows it.
  EXPECT_EQ(encode({{"<|e|", kUser}, {"<|e|>", kTrusted}}), (Ids{6, 8, 4, 8, kEnd}));
  // A word may run over the border of segments.
  EXPECT_EQ(encode({{"a", kTrusted}, {"b", kUser}, {"c", kTrusted}}), Ids{10});
  EXPECT_EQ(encode({{"<|", kTrusted}, {"", kUser}, {"e|>", kTrusted}}), Ids{kEnd});
}

TEST(Tokenizer, UserTextCannotLengthenATrustedToken) {
  Json root = small_json();
  root["added_tokens"].push_back(
      {{"id", kBegin + 1}, {"content", "<|e|>a"}, {"special", true}, {"normalized", false}});
  const auto tokenizer = load(root);
  const std::vector<Segment> segments = {{"<|e|>", SpecialTokens::kParse},
                                         {"ab", SpecialTokens::kPlainText}};
  EXPECT_EQ(tokenizer->encode("<|e|>ab", false).value(), (Ids{kBegin + 1, 1}));
  EXPECT_EQ(tokenizer->encode_segments(segments, false).value(), (Ids{kEnd, 9}));
}

TEST(Tokenizer, NormalizedSpecialTokensKeepTheirPosition) {
  Json root = small_json();
  root["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers",
       {{{"type", "Lowercase"}},
        {{"type", "Replace"}, {"pattern", {{"String", "dd"}}}, {"content", ""}}}}};
  for (Json& token : root["added_tokens"]) token["normalized"] = true;
  const auto tokenizer = load(root);
  const std::vector<Segment> segments = {{"DD<|E|>", SpecialTokens::kParse},
                                         {"dd<|e|>", SpecialTokens::kPlainText},
                                         {"<|dde|>", SpecialTokens::kParse}};
  EXPECT_EQ(tokenizer->encode_segments(segments, false).value(), (Ids{kEnd, 6, 8, 4, 8, 7, kEnd}));
}

TEST(Tokenizer, SegmentsEqualTheJoinedText) {
  const auto tokenizer = load(small_json());
  std::mt19937 random(7);
  constexpr const char* kParts[] = {"ab", "c", "<|e|>", "<|b|>", " ", "é"};
  for (int round = 0; round < 500; ++round) {
    std::vector<Segment> segments;
    std::string joined;
    for (int i = 0; i < 6; ++i) {
      const std::string_view text = kParts[random() % std::size(kParts)];
      const bool trusted = text.starts_with("<|") || random() % 2 == 0;
      segments.push_back({text, trusted ? SpecialTokens::kParse : SpecialTokens::kPlainText});
      joined += text;
    }
    EXPECT_EQ(tokenizer->encode_segments(segments, true).value(),
              tokenizer->encode(joined, true).value())
        << joined;
  }
}

TEST(Tokenizer, InvalidUtf8IsRefusedWithItsPlace) {
  const auto tokenizer = load(small_json());
  for (const char* text :
       {"ab\xFF", "ab\xC3", "ab\xED\xA0\x80", "ab\xC0\x80", "ab\xF4\x90\x80\x80"}) {
    const auto ids = tokenizer->encode(text, false);
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(ids.error().message, HasSubstr("at byte 2 of"));
  }
  // A character may be cut by the border of two segments.
  const std::vector<Segment> segments = {{"\xC3", SpecialTokens::kParse},
                                         {"\xA9", SpecialTokens::kPlainText}};
  EXPECT_EQ(tokenizer->encode_segments(segments, false).value(), bytes({0xC3, 0xA9}));
}

TEST(Tokenizer, TextLimit) {
  const auto tokenizer = load(small_json());
  const std::string text(kMaxEncodeBytes + 1, 'd');
  const auto ids = tokenizer->encode(text, false);
  ASSERT_FALSE(ids.ok());
  EXPECT_THAT(ids.error().message, HasSubstr("wanted at most"));
  EXPECT_FALSE(ids.error().fix.empty());
}

TEST(Tokenizer, LongWordWithoutSpaces) {
  const auto tokenizer = load(small_json());
  std::string text;
  for (int i = 0; i < 350'000; ++i) text += "abc";
  EXPECT_EQ(tokenizer->encode(text, false).value(), Ids(350'000, 10));
}

TEST(Tokenizer, UnknownTokenIsNeededButMissing) {
  Json root = small_json();
  root["model"]["byte_fallback"] = false;
  root["model"]["unk_token"] = "[UNK]";
  const auto tokenizer = load(root);
  EXPECT_TRUE(tokenizer->encode("ab", false).ok());
  const auto ids = tokenizer->encode("xyz", false);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.error().code, ErrorCode::kCorrupt);
}

TEST(Tokenizer, DecodeRefusesNegativeIdsAndPassesOverUnknownOnes) {
  const auto tokenizer = load(small_json());
  EXPECT_EQ(tokenizer->decode(Ids{-1}, false).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(tokenizer->decode(Ids{0, kBegin + 100, 1}, false).value(), "ab");
  EXPECT_EQ(tokenizer->decode(Ids{kBegin, 0, kEnd}, true).value(), "a");
}

TEST(Detokenizer, ByteRunWaitsUntilItIsCertain) {
  const auto tokenizer = load(small_json());
  Detokenizer stream(tokenizer, false);
  EXPECT_EQ(stream.push(0).value(), "a");
  EXPECT_EQ(stream.push(kFirstByte + 0xC3).value(), "");
  EXPECT_EQ(stream.push(kFirstByte + 0xA9).value(), "");  // a later byte may still spoil the run
  EXPECT_EQ(stream.push(1).value(),
            "\xC3\xA9"
            "b");
  EXPECT_EQ(stream.push(kFirstByte + 0xC3).value(), "");
  EXPECT_EQ(stream.push(kFirstByte + 0xC3).value(), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(kFirstByte + 0xA9).value(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(2).value(), "c");
  EXPECT_EQ(stream.push(kFirstByte + 0xE2).value(), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(0).value(), "a");  // a new text
}

TEST(Detokenizer, LongByteRunsAreLinear) {
  const auto tokenizer = load(small_json());
  Detokenizer stream(tokenizer, false);
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    for (const int byte : {0xE5, 0xAD, 0x97}) text += stream.push(kFirstByte + byte).value();
  }
  EXPECT_EQ(text, "");
  EXPECT_EQ(stream.finish().size(), 300'000u);
}

// Every decoder with random ids: pieces are valid UTF-8 and add up to decode().
TEST(Detokenizer, PiecesAddUpToDecode) {
  const Json byte_fallback = {{"type", "ByteFallback"}};
  const Json fuse = {{"type", "Fuse"}};
  const Json byte_level = {{"type", "ByteLevel"}};
  const Json metaspace = {{"type", "Metaspace"}, {"replacement", "a"}};
  const Json strip = {{"type", "Strip"}, {"content", "a"}, {"start", 2}, {"stop", 1}};
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "ab"}}}, {"content", "é"}};
  const Json replace_one = {{"type", "Replace"}, {"pattern", {{"String", "b"}}}, {"content", ""}};
  const Json regex = {{"type", "Replace"}, {"pattern", {{"Regex", "[ab]+$"}}}, {"content", "-"}};
  const std::vector<Json> steps = {byte_fallback, fuse,    byte_level,  metaspace,
                                   strip,         replace, replace_one, regex};
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Json root = small_json();
    root["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array()}};
    const size_t count = random() % 5;
    for (size_t i = 0; i < count; ++i) {
      root["decoder"]["decoders"].push_back(steps[random() % steps.size()]);
    }
    if (round % 10 == 0) root["decoder"] = nullptr;
    const auto tokenizer = load(root);
    Ids ids;
    for (int i = 0; i < 20; ++i) {
      ids.push_back(static_cast<int32_t>(random() % (random() % 2 == 0 ? 12 : kBegin + 3)));
    }
    const bool skip = random() % 2 == 0;
    Detokenizer stream(tokenizer, skip);
    std::string text;
    for (const int32_t id : ids) {
      const std::string piece = stream.push(id).value();
      EXPECT_FALSE(first_invalid_utf8(piece).has_value());
      text += piece;
    }
    text += stream.finish();
    EXPECT_FALSE(first_invalid_utf8(text).has_value());
    EXPECT_EQ(text, tokenizer->decode(ids, skip).value()) << root["decoder"].dump();
  }
}

TEST(TokenizerFile, BrokenTablesGiveCorruptWithPath) {
  Json root = small_json();
  root["model"]["vocab"]["z"] = 3;
  expect_corrupt(root, "model.vocab[\"z\"]: got id 3, which is that of \"d\"");
  for (const Json& id : {Json(-1), Json(kMaxTokenId + 1), Json(1.5), Json("1"), Json(nullptr),
                         Json(true), Json::array(), Json::object()}) {
    root = small_json();
    root["model"]["vocab"]["z"] = id;
    expect_corrupt(root, "model.vocab[\"z\"]: got ");
  }
  root = small_json();
  root["model"]["merges"][1] = {"ab", "zz"};
  expect_corrupt(root, "model.merges[1]: right token \"zz\"");
  root["model"]["merges"][1] = {"zz", "a"};
  expect_corrupt(root, "model.merges[1]: left token \"zz\"");
  root["model"]["merges"][1] = {"c", "a"};
  expect_corrupt(root, "model.merges[1]: joined token \"ca\"");
  for (const Json& merge : {Json("ab"), Json("a b c"), Json({"a"}), Json({"a", "b", "c"}), Json(1),
                            Json({"a", 1}), Json({{"a", "b"}}), Json(nullptr)}) {
    root["model"]["merges"][1] = merge;
    expect_corrupt(root, "model.merges[1]: got ");
  }
}

TEST(TokenizerFile, LargestIdIsAccepted) {
  Json root = small_json();
  root["model"]["vocab"]["z"] = kMaxTokenId;
  EXPECT_EQ(load(root)->vocab_size(), kMaxTokenId + 1);
}

TEST(TokenizerFile, BrokenAddedTokensGiveCorruptWithPath) {
  const auto with = [](const char* key, const Json& value) {
    Json root = small_json();
    root["added_tokens"][1][key] = value;
    return root;
  };
  expect_corrupt(with("id", -5), "added_tokens[1].id: got -5");
  expect_corrupt(with("id", kEnd), "added_tokens[1]: got id 268 a second time");
  expect_corrupt(with("id", 2), "added_tokens[1]: got id 2 for \"<|b|>\"");
  expect_corrupt(with("content", "<|e|>"), "a second time");
  expect_corrupt(with("content", "ab"), "wanted 9, its id in model.vocab");
  expect_corrupt(with("content", 7), "added_tokens[1].content: got 7, wanted a string");
  expect_corrupt(with("lstrip", "yes"), "added_tokens[1].lstrip");
  expect_corrupt(with("content", std::string(4097, 'x')), "content of 4097 bytes");
  EXPECT_NE(load(with("content", std::string(4096, 'x'))), nullptr);
}

TEST(TokenizerFile, SyntaxAndShape) {
  const auto code = [](std::string_view text) {
    return Tokenizer::from_json(text, "tokenizer.json").error().code;
  };
  EXPECT_EQ(code(""), ErrorCode::kCorrupt);
  EXPECT_EQ(code("[]"), ErrorCode::kCorrupt);
  EXPECT_EQ(code("{}"), ErrorCode::kCorrupt);
  EXPECT_EQ(code(R"({"model":{"type":"BPE"}})"), ErrorCode::kCorrupt);
  EXPECT_EQ(code(R"({"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}})"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(code(R"({"model":{"type":"BPE","vocab":{"\ud800":0},"merges":[]}})"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(code(std::string(100, '[')), ErrorCode::kCorrupt);
  EXPECT_EQ(code(R"({"model":{"vocab":[["a",0.5]],"merges":[]}})"), ErrorCode::kCorrupt);
  EXPECT_EQ(Tokenizer::load("/nowhere").error().code, ErrorCode::kNotFound);
}

TEST(TokenizerFile, ReadsTheModelFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "tokenizer_folder";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json") << small_json().dump();
  EXPECT_TRUE(Tokenizer::load(folder).ok());
}

TEST(TokenizerFile, UnknownPartsAreUnsupportedByNameAndPath) {
  const auto with = [](const char* part, const Json& value) {
    Json root = small_json();
    root[part] = value;
    return root;
  };
  expect_unsupported(with("version", "2.0"), "version \"2.0\"");
  expect_unsupported(with("normalizer", {{"type", "Nmt"}}),
                     "normalizer.type: the normalizer \"Nmt\"");
  expect_unsupported(with("pre_tokenizer", {{"type", "BertPreTokenizer"}}), "pre_tokenizer.type");
  expect_unsupported(with("post_processor", {{"type", "BertProcessing"}}), "post_processor.type");
  expect_unsupported(with("decoder", {{"type", "WordPiece"}}), "decoder.type");
  expect_unsupported(with("pre_tokenizer",
                          {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Digits"}, {"individual_digits", true}}, {{"type", "X"}}}}}),
                     "pre_tokenizer.pretokenizers[1].type: the pre-tokenizer \"X\"");
  Json root = small_json();
  root["model"]["type"] = "Unigram";
  expect_unsupported(root, "model.type: the model \"Unigram\"");
  root = small_json();
  root["model"]["dropout"] = 0.1;
  expect_unsupported(root, "model.dropout");
  root["model"]["dropout"] = 0;
  EXPECT_NE(load(root), nullptr);
  const Json split = {{"type", "Split"}, {"behavior", "Isolated"}, {"invert", false}};
  root = with("pre_tokenizer", split);
  root["pre_tokenizer"]["pattern"] = {{"Regex", "(a)\\1"}};
  expect_unsupported(root, "pre_tokenizer.pattern.Regex");
}

TEST(TokenizerFile, WrongMembersGiveCorruptWithPath) {
  const auto with = [](const char* part, const Json& value) {
    Json root = small_json();
    root[part] = value;
    return root;
  };
  expect_corrupt(with("normalizer", "NFC"), "normalizer: got \"NFC\", wanted an object");
  expect_corrupt(with("normalizer", {{"type", "Strip"}}), "\"strip_left\" is missing");
  expect_corrupt(
      with("normalizer", {{"type", "Replace"}, {"pattern", {{"Glob", "*"}}}, {"content", ""}}),
      "normalizer.pattern: got ");
  expect_corrupt(with("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}),
                 "pre_tokenizer.replacement: got \"ab\", wanted a string of one character");
  expect_corrupt(with("pre_tokenizer",
                      {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}),
                 "pre_tokenizer.prepend_scheme: got \"last\"");
  expect_corrupt(with("decoder", {{"type", "Strip"}, {"content", "a"}, {"start", -1}, {"stop", 0}}),
                 "decoder.start: got -1");
  expect_corrupt(with("post_processor", {{"type", "TemplateProcessing"},
                                         {"single", {{{"SpecialToken", {{"id", "<s>"}}}}}},
                                         {"special_tokens", Json::object()}}),
                 "post_processor.single[0].SpecialToken.id: got \"<s>\"");
  expect_corrupt(with("post_processor", {{"type", "TemplateProcessing"},
                                         {"single", {{{"Sequence", {{"id", "B"}}}}}}}),
                 "post_processor.single[0].Sequence.id: got \"B\"");
}

TEST(Tokenizer, TemplateSurroundsTheText) {
  Json root = small_json();
  root["post_processor"] = {{"type", "Sequence"},
                            {"processors",
                             {{{"type", "ByteLevel"}},
                              {{"type", "TemplateProcessing"},
                               {"single",
                                {{{"SpecialToken", {{"id", "x"}}}},
                                 {{"Sequence", {{"id", "A"}}}},
                                 {{"SpecialToken", {{"id", "x"}}}}}},
                               {"special_tokens", {{"x", {{"ids", {kBegin, kEnd}}}}}}}}}};
  const auto tokenizer = load(root);
  EXPECT_EQ(tokenizer->encode("ab", true).value(), (Ids{kBegin, kEnd, 9, kBegin, kEnd}));
  EXPECT_EQ(tokenizer->encode("ab", false).value(), Ids{9});
}

}  // namespace
}  // namespace moe::text
