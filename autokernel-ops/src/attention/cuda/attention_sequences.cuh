// Where the sequences of a batch lie, and how long they are. The emitted file prints `struct Sequences`.
#pragma once

#include "types.cuh"

namespace autokernel::attention {

// How the keys of a batch lie: each sequence's along axes of its own, of which all count, or as many as device memory says;
// in pages of a cache that a table names; or all sequences' one behind the other.
enum class Keys { kWhole, kCounted, kPaged, kPacked };

// A sequence of a batch: as many queries and keys, from some row of their tensors on.
struct Sequence {
  int number;
  int first_query;
  int queries;
  int first_key;
  int keys;
};

constexpr int kMostKeys = INT32_MAX - 0xffff;  // what an `int` counts, rounded up to blocks

// Whatever device memory says, nothing outside of the tensors is touched.
__device__ __forceinline__ int number_at(const void* numbers, int at, int most) {
  return min(max(__ldg(static_cast<const int32_t*>(numbers) + at), 0), most);
}

template <typename Sequences, typename Args>
__device__ __forceinline__ Sequence sequence_at(const Args& args, int number) {
  Sequence of{number, 0, args.queries, 0, args.keys};
  if constexpr (Sequences::kPackedQueries) {
    of.first_query = number_at(args.query_bounds, number, args.queries);
    of.queries = max(number_at(args.query_bounds, number + 1, args.queries) - of.first_query, 0);
  }
  if constexpr (Sequences::kKeys == Keys::kCounted) of.keys = number_at(args.lengths, number, args.keys);
  if constexpr (Sequences::kKeys == Keys::kPaged) {
    of.keys = number_at(args.lengths, number, min(args.pages, kMostKeys / Sequences::kPage) * Sequences::kPage);
  }
  if constexpr (Sequences::kKeys == Keys::kPacked) {
    of.first_key = number_at(args.key_bounds, number, args.keys);
    of.keys = max(number_at(args.key_bounds, number + 1, args.keys) - of.first_key, 0);
  }
  return of;
}

}  // namespace autokernel::attention
