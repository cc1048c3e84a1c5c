// Fuzzes the tokenizer. The first byte picks the mode: the rest is a tokenizer.json, which then
// encodes and decodes pieces of itself, or it is text for one of two fixed tokenizers.
// Whatever comes in, streaming must equal decode() and plain text must hold no special ids.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.hpp"
#include "text/tokenizer/utf8.hpp"

namespace {

using moe::text::Detokenizer;
using moe::text::SpecialTokens;
using moe::text::Tokenizer;
using Handle = std::shared_ptr<const Tokenizer>;

constexpr std::string_view kByteLevel = R"json({"added_tokens":[
{"id":14,"content":"<|x|>","special":true,"normalized":false},
{"id":15,"content":"ab","special":false,"normalized":true,"lstrip":true,"rstrip":true},
{"id":16,"content":"cd","special":true,"normalized":true,"single_word":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},
{"type":"Replace","pattern":{"Regex":"\\s{2,}"},"content":" "}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":
"(?i:'s|'t|'re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":true,"use_regex":true}]},
"decoder":{"type":"ByteLevel"},
"model":{"type":"BPE","unk_token":"?","vocab":{"a":0,"b":1,"c":2,"d":3,"e":4,"Ġ":5,"Ċ":6,"Ã":7,"Â":8,
"Ġa":9,"aa":10,"Ġaa":11,"?":12,"<":13},"merges":[["Ġ","a"],["a","a"],["Ġ","aa"]]}})json";

constexpr std::string_view kMetaspace = R"json({"added_tokens":[
{"id":9,"content":"<s>","special":true,"normalized":false,"rstrip":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":false},
{"type":"StripAccents"},{"type":"NFD"}]},
"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":1}]},
"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"vocab":{"<unk>":0,"a":1,
"b":2,"▁":3,"▁a":4,"<0xE2>":5,"<0x82>":6,"<0xAC>":7,"<0xC3>":8},"merges":["▁ a"]}})json";

void require(bool holds) {
  if (!holds) std::abort();
}

std::string streamed(const Handle& tokenizer, const std::vector<int32_t>& ids, bool skip) {
  Detokenizer stream(tokenizer, skip);
  std::string text;
  for (const int32_t id : ids) {
    const auto piece = stream.push(id);
    if (!piece) return text;
    require(!moe::text::first_invalid_utf8(*piece));
    text += *piece;
  }
  return text + stream.finish();
}

void check_decode(const Handle& tokenizer, const std::vector<int32_t>& ids) {
  for (const bool skip : {false, true}) {
    const auto text = tokenizer->decode(ids, skip);
    if (!text) continue;
    require(!moe::text::first_invalid_utf8(*text));
    require(*text == streamed(tokenizer, ids, skip));
  }
}

void check_text(const Handle& tokenizer, std::string_view text) {
  const auto ids = tokenizer->encode(text, true);
  if (ids) check_decode(tokenizer, *ids);
  const auto plain = tokenizer->encode(text, false, SpecialTokens::kPlainText);
  require(ids.ok() == plain.ok() || moe::text::first_invalid_utf8(text) == std::nullopt);
  const size_t middle = text.size() / 2;
  const moe::text::Segment segments[] = {{text.substr(0, middle), SpecialTokens::kParse},
                                         {text.substr(middle), SpecialTokens::kPlainText}};
  const auto mixed = tokenizer->encode_segments(segments, true);
  if (mixed) check_decode(tokenizer, *mixed);
}

void check_random_ids(const Handle& tokenizer, std::string_view bytes) {
  std::vector<int32_t> ids;
  for (const char byte : bytes) ids.push_back(static_cast<uint8_t>(byte) % 20);
  check_decode(tokenizer, ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Handle byte_level = Tokenizer::from_json(kByteLevel, "byte level").value();
  static const Handle metaspace = Tokenizer::from_json(kMetaspace, "metaspace").value();
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'b' || data[0] == 'm') {
    const Handle& tokenizer = data[0] == 'b' ? byte_level : metaspace;
    check_text(tokenizer, rest);
    check_random_ids(tokenizer, rest);
    return 0;
  }
  const auto tokenizer = Tokenizer::from_json(rest, "fuzzed tokenizer.json");
  if (!tokenizer) {
    require(!tokenizer.error().message.empty());
    return 0;
  }
  constexpr size_t kTextBytes = 200;
  check_text(*tokenizer, rest.substr(rest.size() > kTextBytes ? rest.size() - kTextBytes : 0));
  check_text(*tokenizer, " ab<s> c\xC3\xA9  \n1\xE5\xAD\x97");
  check_random_ids(*tokenizer, rest.substr(0, kTextBytes));
  return 0;
}
