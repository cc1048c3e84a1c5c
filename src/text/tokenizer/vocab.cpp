#include "text/tokenizer/vocab.hpp"

#include <functional>

namespace moe::text {
namespace {

constexpr size_t kFewestSlots = 64;

size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

size_t slots_for(size_t count) {
  size_t slots = kFewestSlots;
  while (slots < count * 2) slots *= 2;
  return slots;
}

}  // namespace

void Vocab::reserve(size_t count) {
  by_id_.reserve(count);
  const size_t slots = slots_for(count);
  if (slots > slots_.size()) rehash(slots);
}

void Vocab::rehash(size_t slot_count) {
  slots_.assign(slot_count, -1);
  for (size_t id = 0; id < by_id_.size(); ++id) {
    if (!by_id_[id].used) continue;
    size_t at = hash_of(view(by_id_[id])) & (slot_count - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slot_count - 1);
    slots_[at] = static_cast<int32_t>(id);
  }
}

Vocab::Added Vocab::add(std::string_view text, int32_t id) {
  const auto index = static_cast<size_t>(id);
  if (index < by_id_.size() && by_id_[index].used) return Added::kDuplicateId;
  if (find(text)) return Added::kDuplicateText;
  if (index >= by_id_.size()) by_id_.resize(index + 1);
  by_id_[index] = {texts_.size(), static_cast<uint32_t>(text.size()), true};
  texts_ += text;
  ++count_;
  if (slots_.size() < slots_for(count_)) {
    rehash(slots_for(count_));
    return Added::kYes;
  }
  size_t at = hash_of(text) & (slots_.size() - 1);
  while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = id;
  return Added::kYes;
}

std::optional<int32_t> Vocab::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  for (size_t at = hash_of(text) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const int32_t id = slots_[at];
    if (id < 0) return std::nullopt;
    if (view(by_id_[static_cast<size_t>(id)]) == text) return id;
  }
}

std::optional<std::string_view> Vocab::text_of(int32_t id) const {
  if (id < 0 || id >= size() || !by_id_[static_cast<size_t>(id)].used) return std::nullopt;
  return view(by_id_[static_cast<size_t>(id)]);
}

void MergeTable::reserve(size_t count) {
  const size_t wanted = slots_for(count);
  if (wanted <= slots_.size()) return;
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(wanted, {});
  count_ = 0;
  for (const Slot& slot : old) {
    if (slot.key == kFree) continue;
    set(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key & 0xFFFFFFFFu),
        slot.merge);
  }
}

void MergeTable::set(int32_t left, int32_t right, Merge merge) {
  reserve(count_ + 1);
  const uint64_t key = key_of(left, right);
  size_t at = place(key);
  while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].key == kFree) ++count_;
  slots_[at] = {key, merge};
}

}  // namespace moe::text
