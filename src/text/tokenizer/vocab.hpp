// Token texts and their ids, both ways, and the table of merges. Filled once, then immutable and
// readable by any thread. Open addressing: loading 150,000 entries must not take noticeable time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moe::text {

class Vocab {
 public:
  enum class Added { kYes, kDuplicateText, kDuplicateId };

  void reserve(size_t count);
  // id in [0, kMaxTokenId].
  Added add(std::string_view text, int32_t id);

  std::optional<int32_t> find(std::string_view text) const;
  std::optional<std::string_view> text_of(int32_t id) const;
  int32_t size() const { return static_cast<int32_t>(by_id_.size()); }  // highest id + 1
  size_t count() const { return count_; }

 private:
  struct Entry {
    uint64_t begin = 0;
    uint32_t length = 0;
    bool used = false;
  };
  std::string_view view(const Entry& entry) const {
    return std::string_view(texts_).substr(entry.begin, entry.length);
  }
  void rehash(size_t slot_count);

  std::string texts_;
  std::vector<Entry> by_id_;
  std::vector<int32_t> slots_;  // ids by hash of the text, -1 when free
  size_t count_ = 0;
};

struct Merge {
  uint32_t rank;
  int32_t id;  // of the joined token
};

class MergeTable {
 public:
  void reserve(size_t count);
  // A pair that is there already gets the new values.
  void set(int32_t left, int32_t right, Merge merge);
  const Merge* find(int32_t left, int32_t right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kFree) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t key) const {
    // Multiplication alone keeps low bits weak, so the high ones are folded in.
    const uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed ^ mixed >> 32) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t count_ = 0;
};

}  // namespace moe::text
