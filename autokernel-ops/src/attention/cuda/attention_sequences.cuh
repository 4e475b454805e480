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

  __device__ __forceinline__ bool operator==(const Sequence& other) const {
    return first_query == other.first_query && queries == other.queries && first_key == other.first_key && keys == other.keys;
  }
};

constexpr int kMostKeys = INT32_MAX - 0xffff;  // what an `int` counts, rounded up to blocks

// How numbers are read: for good; or while the grid before this one may still write them, as a guess. A guess is read past L1, where
// what is read for good would find it again.
struct ForGood {
  __device__ __forceinline__ static int32_t load(const int32_t* address) { return __ldg(address); }
};
struct AsGuess {
  __device__ __forceinline__ static int32_t load(const int32_t* address) {
    int32_t number;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(number) : "l"(address) : "memory");
    return number;
  }
};

// Whatever device memory says, nothing outside of the tensors is touched.
template <typename Reading>
__device__ __forceinline__ int number_at(Reading reading, const void* numbers, int at, int most) {
  return min(max(reading.load(static_cast<const int32_t*>(numbers) + at), 0), most);
}

template <typename Sequences, typename Args, typename Reading = ForGood>
__device__ __forceinline__ Sequence sequence_at(const Args& args, int number, Reading reading = {}) {
  Sequence of{number, 0, args.queries, 0, args.keys};
  if constexpr (Sequences::kPackedQueries) {
    of.first_query = number_at(reading, args.query_bounds, number, args.queries);
    of.queries = max(number_at(reading, args.query_bounds, number + 1, args.queries) - of.first_query, 0);
  }
  if constexpr (Sequences::kKeys == Keys::kCounted) of.keys = number_at(reading, args.lengths, number, args.keys);
  if constexpr (Sequences::kKeys == Keys::kPaged) {
    of.keys = number_at(reading, args.lengths, number, min(args.pages, kMostKeys / Sequences::kPage) * Sequences::kPage);
  }
  if constexpr (Sequences::kKeys == Keys::kPacked) {
    of.first_key = number_at(reading, args.key_bounds, number, args.keys);
    of.keys = max(number_at(reading, args.key_bounds, number + 1, args.keys) - of.first_key, 0);
  }
  return of;
}

// Whether keys and values have elements, without which they have no tensor map. Of a cache in pages arguments say it: how many there
// are, or whether there are any.
template <typename Sequences, typename Args>
__device__ __forceinline__ bool are_mapped(const Args& args) {
  if constexpr (Sequences::kKeys == Keys::kPaged) return args.key_pages != 0 && args.value_pages != 0;
  return args.keys != 0;
}

// A cache without pages has no keys, whatever lengths say.
template <typename Sequences, typename Args, typename Reading = ForGood>
__device__ __forceinline__ Sequence located(const Args& args, int number, Reading reading = {}) {
  Sequence of = sequence_at<Sequences>(args, number, reading);
  if constexpr (Sequences::kKeys == Keys::kPaged) {
    if (!are_mapped<Sequences>(args)) of.keys = 0;
  }
  return of;
}

// Where a row lies in `q` and `out`, in elements.
template <typename Sequences>
struct RowOf {
  Sequence sequence;
  int query;  // of the sequence
  int head;

  template <typename Args>
  __device__ __forceinline__ int64_t in_q(const Args& args) const {
    const int64_t within = head * args.q_head + (sequence.first_query + query) * args.q_query;
    if constexpr (Sequences::kPackedQueries) return within;
    else return sequence.number * args.q_batch + within;
  }
  template <typename Args>
  __device__ __forceinline__ int64_t in_out(const Args& args) const {
    const int64_t within = head * args.out_head + (sequence.first_query + query) * args.out_query;
    if constexpr (Sequences::kPackedQueries) return within;
    else return sequence.number * args.out_batch + within;
  }
  template <typename Args>
  __device__ __forceinline__ int64_t in_lse(const Args& args) const {
    const int64_t within = head * args.lse_head + sequence.first_query + query;
    if constexpr (Sequences::kPackedQueries) return within;
    else return sequence.number * args.lse_batch + within;
  }
};

}  // namespace autokernel::attention
