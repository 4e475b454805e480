// From global to shared memory: rows of queries, keys and values, by asynchronous copies of 16 bytes.
//
// A row of a panel is 128 bytes, all banks once; its pieces of 16 bytes are exchanged by an XOR with the row's number, so that
// copies along a row and ldmatrix down a column have no conflicts.
#pragma once

#include "ptx/sm80.cuh"
#include "sm80_attention_geometry.cuh"

namespace autokernel::attention::sm80 {

// Begins to copy `kRows` rows of `kDim` elements by `kThreads` threads; `row(number)` is where one lies, or null: zeros then.
template <int kRows, int kDim, int kThreads, typename Row>
__device__ __forceinline__ void copy_rows(uint32_t to, int thread, Row row) {
  constexpr int kPieces = kDim * 2 / kPieceBytes;
  constexpr int kPiecesOfPanel = kRowBytes / kPieceBytes;
  constexpr int kAll = kRows * kPieces;
#pragma unroll 4
  for (int first = 0; first < kAll; first += kThreads) {
    const int at = first + thread;
    if (kAll % kThreads != 0 && at >= kAll) break;
    const int number = at / kPieces, piece = at % kPieces;
    const char* const from = row(number);
    const int panel = piece / kPiecesOfPanel * kRows * kRowBytes;
    const int within = (piece % kPiecesOfPanel ^ number % kPiecesOfPanel) * kPieceBytes;
    ptx::cp_async_if<kPieceBytes>(to + panel + number * kRowBytes + within, from + piece * kPieceBytes, from != nullptr);
  }
}

// Where the keys of a sequence's group lie, or its values. Nothing outside of the tensor is read, whatever tables say.
template <typename Sequences>
struct Source {
  const char* first;  // of the group: the sequence's first key, or that of the cache
  int64_t row_bytes;
  int keys;
  const int32_t* table;  // the sequence's pages
  int64_t page_bytes;
  int pages;  // that there are

  // Strides are in elements of two bytes.
  template <typename Args>
  __device__ __forceinline__ Source(const Args& args, const void* base, int64_t outer, int64_t of_head, int64_t of_row,
                                    int pages, const Sequence& sequence, int group)
      : first(static_cast<const char*>(base) + 2 * (group * of_head + sequence.first_key * of_row)),
        row_bytes(2 * of_row),
        keys(sequence.keys),
        page_bytes(2 * outer),
        pages(pages) {
    if constexpr (Sequences::kKeys == Keys::kPaged) {
      table = static_cast<const int32_t*>(args.table) + sequence.number * args.table_row;
    } else {
      first += 2 * sequence.number * outer;
    }
  }

  // Null behind the last key, and where a table names no page.
  __device__ __forceinline__ const char* operator()(int key) const {
    if (key >= keys) return nullptr;
    if constexpr (Sequences::kKeys == Keys::kPaged) {
      const int page = __ldg(table + key / Sequences::kPage);
      if (page < 0 || page >= pages) return nullptr;
      return first + page * page_bytes + key % Sequences::kPage * row_bytes;
    } else {
      return first + key * row_bytes;
    }
  }
};

template <typename Sequences, typename Args>
__device__ __forceinline__ Source<Sequences> source_of_keys(const Args& args, const Sequence& sequence, int group) {
  int64_t outer = 0;
  int pages = 0;
  if constexpr (Sequences::kKeys == Keys::kPaged) outer = args.k_page, pages = args.key_pages;
  else if constexpr (Sequences::kKeys != Keys::kPacked) outer = args.k_batch;
  return {args, args.k, outer, args.k_head, args.k_row, pages, sequence, group};
}

template <typename Sequences, typename Args>
__device__ __forceinline__ Source<Sequences> source_of_values(const Args& args, const Sequence& sequence, int group) {
  int64_t outer = 0;
  int pages = 0;
  if constexpr (Sequences::kKeys == Keys::kPaged) outer = args.v_page, pages = args.value_pages;
  else if constexpr (Sequences::kKeys != Keys::kPacked) outer = args.v_batch;
  return {args, args.v, outer, args.v_head, args.v_row, pages, sequence, group};
}

// The blocks of a sequence's keys and of its values in turn, from the last to the first, in a ring of slots: as one is read the
// next ones are on their way.
template <typename G, typename Args>
struct Ring {
  const Args& args;
  Sequence sequence;
  int group;
  uint32_t slots;
  int behind;        // of the last block
  int count;         // of slots to fill: two a block
  int filled = 0;
  int slot_to_fill = 0;
  int slot_to_read = 0;

  template <typename Blocks>
  __device__ __forceinline__ Ring(const Args& args, const Sequence& sequence, int group, uint32_t slots, const Blocks& blocks)
      : args(args), sequence(sequence), group(group), slots(slots), behind(blocks.last), count(2 * blocks.count()) {}

  // Begins to fill all slots but one. What was copied before belongs to the first.
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int number = 0; number < G::kStages - 1; ++number) fill(number % 2 == 0);
  }

  // The next block, which all threads may read from now on; what was read before is overwritten. Of all threads.
  template <bool kOfKeys>
  __device__ __forceinline__ uint32_t next() {
    ptx::cp_async_wait<G::kStages - 2>();
    __syncthreads();
    fill(kOfKeys == (G::kStages % 2 == 1));
    const uint32_t slot = slots + slot_to_read * G::kSlotBytes;
    slot_to_read = slot_to_read + 1 == G::kStages ? 0 : slot_to_read + 1;
    return slot;
  }

 private:
  __device__ __forceinline__ void fill(bool of_keys) {
    if (filled < count) {
      using Sequences = typename G::Sequences;
      const int first = (behind - 1 - filled / 2) * G::kTileKeys;
      const uint32_t slot = slots + slot_to_fill * G::kSlotBytes;
      // Where rows lie is found anew each time, as addresses would take the registers of sums.
      uint32_t group_here = group;
      ptx::hide_from_compiler(group_here);
      if (of_keys) {
        const auto keys = source_of_keys<Sequences>(args, sequence, group_here);
        copy_rows<G::kTileKeys, G::kHeadDim, G::kThreads>(slot, threadIdx.x, [&](int row) { return keys(first + row); });
      } else {
        const auto values = source_of_values<Sequences>(args, sequence, group_here);
        copy_rows<G::kTileKeys, G::kValueDim, G::kThreads>(slot, threadIdx.x, [&](int row) { return values(first + row); });
      }
      slot_to_fill = slot_to_fill + 1 == G::kStages ? 0 : slot_to_fill + 1;
      ++filled;
    }
    ptx::cp_async_commit();
  }
};

}  // namespace autokernel::attention::sm80
