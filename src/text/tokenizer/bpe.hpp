// The BPE model of tokenizer.json: a word becomes the ids of its characters, then neighbours are
// merged, lowest rank first and leftmost among equals. O(n log n) for a word of n characters.
// Immutable after construction, may be shared by threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"
#include "text/tokenizer/vocab.hpp"

namespace moe::text {

// vocab and merges as read from the file, before any check.
struct BpeTables {
  Vocab vocab;
  std::vector<std::pair<std::string, std::string>> merges;
};

class Bpe {
 public:
  // `model` is the "model" object without its vocab and merges, which come in `tables`.
  // Errors: corrupt (merges that name unknown tokens, ...), unsupported (dropout, other models).
  static Result<Bpe> create(const JsonView& model, BpeTables tables);

  const Vocab& vocab() const { return vocab_; }

  // Buffers that live from word to word.
  struct Scratch {
    struct Symbol {
      int32_t id;
      uint32_t previous;
      uint32_t next;
      bool alive;
    };
    struct Candidate {
      uint64_t order;  // rank, then position
      int32_t id;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::string character;
  };

  // Appends the ids of one word (valid UTF-8).
  // Errors: corrupt when the word needs unk_token and the vocabulary lacks it.
  Status encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  Bpe() = default;

  Status add_merges(const JsonView& model,
                    const std::vector<std::pair<std::string, std::string>>& merges);
  void index_single_characters();
  Status split_characters(std::string_view word, Scratch& scratch) const;
  bool fall_back_to_bytes(std::string_view text, Scratch& scratch) const;
  void push_candidate(uint32_t left, Scratch& scratch) const;
  void merge_symbols(Scratch& scratch) const;

  // Characters below this have their id in a table; it covers the byte-level alphabet.
  static constexpr size_t kIndexedCharacters = 0x180;

  Vocab vocab_;
  MergeTable merges_;
  std::array<int32_t, kIndexedCharacters> character_ids_{};
  std::array<int32_t, 256> byte_ids_{};  // of <0x00>..<0xFF>, -1 when absent
  std::optional<std::string> unk_token_;
  std::optional<int32_t> unk_id_;
  std::string prefix_;  // continuing_subword_prefix
  std::string suffix_;  // end_of_word_suffix
  std::string source_;
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
};

}  // namespace moe::text
