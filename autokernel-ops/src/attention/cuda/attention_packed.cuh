// Packed rows: queries, each with all heads that share keys side by side, so that few queries fill a tile.
#pragma once

#include "attention_shares.cuh"
#include "attention_softmax.cuh"

namespace autokernel::attention {

// The rows of a consumer.
template <typename G>
struct PackedRows {
  using Row = RowOf<typename G::Sequences>;
  static constexpr int kHeads = kRowsOfThread;
  static constexpr bool kFill = false;

  Sequence sequence;
  int group;
  int sharing;
  int first;  // of the rows that the sequence has in this group
  int count;  // of rows that are there
  int queries[kRowsOfThread];
  int heads[kRowsOfThread];

  template <typename Piece>
  __device__ __forceinline__ PackedRows(const Piece& piece, const Line<G>& line, int consumer)
      : sequence(piece.sequence),
        group(piece.group),
        sharing(line.sharing),
        first(piece.first_row + consumer * kRowsOfWarpgroup),
        count(min(max(line.rows(piece.sequence) - first, 0), kRowsOfWarpgroup)) {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) {
      const Row at = this->at(min(row_of_thread() + 8 * row, max(count - 1, 0)));
      queries[row] = at.query;
      heads[row] = at.head;
    }
  }

  __device__ __forceinline__ Row at(int row) const { return at(*this, sharing, first + row); }

  // Of the rows that the sequence has in the group of a piece.
  template <typename Piece>
  __device__ __forceinline__ static Row at(const Piece& piece, int sharing, int row) {
    return {piece.sequence, row / sharing, piece.group * sharing + row % sharing};
  }

  // A thread's own.
  __device__ __forceinline__ int query(int row) const { return queries[row]; }
  __device__ __forceinline__ int head(int row) const { return heads[row]; }
  __device__ __forceinline__ bool is_there(int row) const { return row_of_thread() + 8 * row < count; }
  // Of the two rows of its threads those that the warp has: where queries are few, most have none.
  __device__ __forceinline__ int rows_of_warp() const {
    return (count - static_cast<int>(threadIdx.x) % kWarpgroupSize / kWarpSize * 16 + 7) / 8;
  }
  template <typename Args>
  __device__ __forceinline__ bool is_there(const Args&, int row) const {
    return is_there(row);
  }
  // Rows of several heads lie anywhere.
  template <typename Args>
  __device__ __forceinline__ static int64_t out(const Args&) {
    return 0;
  }
  template <typename Args>
  __device__ __forceinline__ int64_t out_of_row(const Args& args, int row) const {
    return Row{sequence, queries[row], heads[row]}.in_out(args);
  }
  template <typename Args>
  __device__ __forceinline__ static int64_t lse(const Args&) {
    return 0;
  }
  template <typename Args>
  __device__ __forceinline__ int64_t lse_of_row(const Args& args, int row) const {
    return Row{sequence, queries[row], heads[row]}.in_lse(args);
  }
};

}  // namespace autokernel::attention
