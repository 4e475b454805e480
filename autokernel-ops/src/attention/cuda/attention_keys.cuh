// Which keys a query sees.
#pragma once

namespace autokernel::attention {

// Keys are aligned with queries at their ends: query i stands at key i + keys - queries. A causal query sees no key behind
// its place; with a window of W keys, none W or more away from it. `first` .. `last` is a range, `last` outside.
template <typename Problem>
struct KeysOf {
  int keys;
  int offset;  // from a query to its place among the keys

  __device__ __forceinline__ KeysOf(int queries, int keys) : keys(keys), offset(keys - queries) {}

  __device__ __forceinline__ int first(int query) const {
    if constexpr (Problem::kWindow == 0) return 0;
    return max(0, query + offset - (Problem::kWindow - 1));
  }
  __device__ __forceinline__ int last(int query) const {
    if constexpr (Problem::kCausal) return min(keys, query + offset + 1);
    if constexpr (Problem::kWindow != 0) return min(keys, query + offset + Problem::kWindow);
    return keys;
  }
};

// The blocks of `kTileKeys` keys that some query of first_query .. last_query sees, and those of them where every query sees
// every key. Both are ranges; blocks before and behind the inner one need a mask.
template <typename Problem, int kTileKeys>
struct KeyBlocks {
  int first;
  int last;
  int inner_first;
  int inner_last;

  __device__ __forceinline__ KeyBlocks(const KeysOf<Problem>& keys, int first_query, int last_query) {
    first = keys.first(first_query) / kTileKeys;
    last = max(keys.last(last_query), 0);
    last = max((last + kTileKeys - 1) / kTileKeys, first);
    inner_first = min((keys.first(last_query) + kTileKeys - 1) / kTileKeys, last);
    inner_last = min(max(max(keys.last(first_query), 0) / kTileKeys, first), last);
  }

  __device__ __forceinline__ int count() const { return last - first; }

  // So many of them, behind as many others.
  __device__ __forceinline__ KeyBlocks part(int before, int count) const {
    KeyBlocks part = *this;
    part.first = min(first + before, last);
    part.last = min(part.first + count, last);
    part.inner_first = min(max(inner_first, part.first), part.last);
    part.inner_last = min(max(inner_last, part.first), part.last);
    return part;
  }
};

}  // namespace autokernel::attention
