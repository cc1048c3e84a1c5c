// Paged key-value cache and attention over it. Notation as in dense.hpp.
#pragma once

#include "moe/result.hpp"
#include "ops/op_id.hpp"
#include "tensor/view.hpp"

namespace moe::ops {

// Attention takes keys in tiles of so many absolute positions, whatever the page size.
constexpr int64_t kAttentionTile = 16;

// One layer's cache: `blocks` pages of `block_size` tokens. Row (block * block_size + offset) of
// `keys` holds kv_heads * head_dim values of one token, and likewise `values`.
struct KvCacheView {
  View keys;    // [blocks * block_size, kv_heads * head_dim] bf16
  View values;  // [blocks * block_size, kv_heads * value_dim] bf16
  int64_t block_size = 0;
};

// cache row slots[t] = k[t], v[t]. A slot of -1 skips the token.
// Errors: invalid_argument for a slot outside [-1, rows).
struct KvCacheStore {
  static constexpr OpId kId = OpId::kKvCacheStore;
  ConstView k;                 // [T, kv_heads * head_dim] bf16
  ConstView v;                 // [T, kv_heads * value_dim] bf16
  Array<const int32_t> slots;  // [T]
  KvCacheView cache;
};
Status kv_cache_store_ref(const KvCacheStore&);

// Causal attention of T query rows of S sequences. Sequence s owns query rows
// [query_begin[s], query_begin[s+1]); its last query is token context_length[s]-1. Query head h
// reads cache head h / (heads / kv_heads).
// Per row, in FP32, over tiles of kAttentionTile positions in ascending order: s_j = dot32(q, k_j)
// * scale; m' = max(m, max s_j); acc *= exp(m - m'); l *= exp(m - m'); then for ascending j: p_j =
// exp(s_j - m'); l += p_j; acc += f(b(p_j)) * f(v_j). out = b(acc / l). A NaN score makes the row
// NaN; scores of -infinity alone do as well. The order depends on positions alone, so a row's bits
// depend neither on the page size, nor on the chunk it came in, nor on other rows. Errors:
// invalid_argument for a block id outside the cache or lengths that contradict each other.
struct AttentionPaged {
  static constexpr OpId kId = OpId::kAttentionPaged;
  ConstView q;  // [T, heads * head_dim] bf16
  KvCacheView cache;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 0;
  Array<const int32_t> block_tables;  // [S, max_blocks] row-major: block id of each page
  int64_t max_blocks = 0;
  Array<const int32_t> query_begin;     // [S + 1]
  Array<const int32_t> context_length;  // [S], tokens in the cache including these queries
  View out;                             // [T, heads * value_dim] bf16
};
Status attention_paged_ref(const AttentionPaged&);

}  // namespace moe::ops
