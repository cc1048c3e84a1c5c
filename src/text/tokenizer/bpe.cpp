#include "text/tokenizer/bpe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

constexpr uint32_t kEnd = ~uint32_t{0};

Status check_dropout(const JsonView& model) {
  const auto dropout = TRY(model.find("dropout"));
  if (!dropout) return {};
  const bool zero = dropout->number().has_value() && *dropout->number() == 0.0;
  if (!zero) return dropout->not_supported("dropout other than 0");
  return {};
}

Result<std::optional<std::string>> optional_string(const JsonView& model, std::string_view key) {
  const auto view = TRY(model.find(key));
  if (!view) return std::optional<std::string>();
  return std::optional<std::string>(std::string(TRY(view->string())));
}

}  // namespace

Result<Bpe> Bpe::create(const JsonView& model, BpeTables tables) {
  const auto type = TRY(model.find("type"));
  if (type) {
    const std::string_view name = TRY(type->string());
    if (name != "BPE") return type->not_supported(fmt::format("the model \"{}\"", name));
  }
  TRY(check_dropout(model));
  Bpe bpe;
  bpe.source_ = model.source();
  bpe.vocab_ = std::move(tables.vocab);
  bpe.unk_token_ = TRY(optional_string(model, "unk_token"));
  if (bpe.unk_token_) bpe.unk_id_ = bpe.vocab_.find(*bpe.unk_token_);
  bpe.prefix_ = TRY(optional_string(model, "continuing_subword_prefix")).value_or("");
  bpe.suffix_ = TRY(optional_string(model, "end_of_word_suffix")).value_or("");
  bpe.fuse_unk_ = TRY(model.boolean_at("fuse_unk", false));
  bpe.byte_fallback_ = TRY(model.boolean_at("byte_fallback", false));
  bpe.ignore_merges_ = TRY(model.boolean_at("ignore_merges", false));
  TRY(bpe.add_merges(model, tables.merges));
  bpe.index_single_characters();
  return bpe;
}

Status Bpe::add_merges(const JsonView& model,
                       const std::vector<std::pair<std::string, std::string>>& merges) {
  merges_.reserve(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    const auto bad = [&](std::string_view what, std::string_view token) {
      return corrupt(fmt::format("{}: {}.merges[{}]: {} \"{}\" is not in the vocabulary",
                                 model.source(), model.path(), i, what, token),
                     "restore tokenizer.json from the model's source");
    };
    const auto left_id = vocab_.find(left);
    if (!left_id) return bad("left token", left);
    const auto right_id = vocab_.find(right);
    if (!right_id) return bad("right token", right);
    if (right.size() < prefix_.size()) {
      return bad("a token with continuing_subword_prefix, got", right);
    }
    joined.assign(left).append(right, prefix_.size());
    const auto joined_id = vocab_.find(joined);
    if (!joined_id) return bad("joined token", joined);
    merges_.set(*left_id, *right_id, {static_cast<uint32_t>(i), *joined_id});
  }
  return {};
}

void Bpe::index_single_characters() {
  std::string text;
  for (size_t c = 0; c < kIndexedCharacters; ++c) {
    text.clear();
    append_utf8(text, static_cast<uint32_t>(c));
    character_ids_[c] = vocab_.find(text).value_or(-1);
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocab_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

bool Bpe::fall_back_to_bytes(std::string_view text, Scratch& scratch) const {
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
  if (!std::all_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) >= 0; })) {
    return false;
  }
  for (const char byte : text) scratch.symbols.push_back({id_of(byte), 0, 0, true});
  return true;
}

// One symbol for each character that is a token; what is not becomes bytes or the unknown token,
// or goes when there is neither, as the library does.
Status Bpe::split_characters(std::string_view word, Scratch& scratch) const {
  const bool affixes = !prefix_.empty() || !suffix_.empty();
  bool unknown_waits = false;
  const auto flush = [&] {
    if (unknown_waits) scratch.symbols.push_back({*unk_id_, 0, 0, true});
    unknown_waits = false;
  };
  for (size_t at = 0; at < word.size();) {
    const CodePoint point = code_point_at(word, at);
    std::string_view text = word.substr(at, point.size);
    int32_t id = -1;
    if (!affixes && point.value < kIndexedCharacters) {
      id = character_ids_[point.value];
    } else {
      if (affixes) {
        scratch.character.assign(at > 0 ? prefix_ : "").append(text);
        if (at + point.size == word.size()) scratch.character += suffix_;
        text = scratch.character;
      }
      id = vocab_.find(text).value_or(-1);
    }
    at += point.size;
    if (id >= 0) {
      flush();
      scratch.symbols.push_back({id, 0, 0, true});
      continue;
    }
    // Bytes come before an unknown token that still waits: the library's order.
    if (byte_fallback_ && fall_back_to_bytes(text, scratch)) continue;
    if (!unk_token_) continue;
    if (!unk_id_) {
      return corrupt(fmt::format("{}: model.unk_token: \"{}\" is not in the vocabulary, and the "
                                 "text has a character that needs it",
                                 source_, *unk_token_),
                     "restore tokenizer.json from the model's source");
    }
    if (!fuse_unk_) flush();
    unknown_waits = true;
  }
  flush();
  return {};
}

void Bpe::push_candidate(uint32_t left, Scratch& scratch) const {
  const auto& symbol = scratch.symbols[left];
  if (symbol.next == kEnd) return;
  const Merge* merge = merges_.find(symbol.id, scratch.symbols[symbol.next].id);
  if (merge == nullptr) return;
  scratch.heap.push_back({uint64_t{merge->rank} << 32 | left, merge->id});
}

void Bpe::merge_symbols(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.order > b.order;
  };
  heap.clear();
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = i == 0 ? kEnd : i - 1;
    symbols[i].next = i + 1 == symbols.size() ? kEnd : i + 1;
  }
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) push_candidate(i, scratch);
  std::make_heap(heap.begin(), heap.end(), later);
  const auto push = [&](uint32_t left) {
    const size_t before = heap.size();
    push_candidate(left, scratch);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Scratch::Candidate top = heap.back();
    heap.pop_back();
    const auto left = static_cast<uint32_t>(top.order);
    if (!symbols[left].alive || symbols[left].next == kEnd) continue;
    const uint32_t right = symbols[left].next;
    const Merge* merge = merges_.find(symbols[left].id, symbols[right].id);
    // The pair changed since the candidate was made.
    if (merge == nullptr || merge->id != top.id) continue;
    symbols[left].id = top.id;
    symbols[left].next = symbols[right].next;
    symbols[right].alive = false;
    if (symbols[right].next != kEnd) symbols[symbols[right].next].previous = left;
    if (symbols[left].previous != kEnd) push(symbols[left].previous);
    push(left);
  }
}

Status Bpe::encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto id = vocab_.find(word)) {
      ids.push_back(*id);
      return {};
    }
  }
  scratch.symbols.clear();
  TRY(split_characters(word, scratch));
  if (scratch.symbols.size() > 1) merge_symbols(scratch);
  for (const Scratch::Symbol& symbol : scratch.symbols) {
    if (symbol.alive) ids.push_back(symbol.id);
  }
  return {};
}

}  // namespace moe::text
