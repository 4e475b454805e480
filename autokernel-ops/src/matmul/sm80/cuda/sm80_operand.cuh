// How a block sees a factor: where its tile lies in memory, how it comes to a stage, and where lanes find fragments there.
#pragma once

#include "sm80_copy.cuh"
#include "sm80_elements.cuh"
#include "sm80_shared_tile.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

// One operand of a block: the rows (or columns, if K runs along the rows) of its tile, for all of K.
// kChunksPerLoad: chunks of one row that a group of lanes reads together as it walks down a column.
template <int kElementBytes, int kExtent, int kTileK, int kThreads, bool kRowsAreK, int kChunksPerLoad = 1>
struct Operand {
  static_assert(kElementBytes == 2 || !kRowsAreK, "layout_is_one_that_ldmatrix_reads");  // it transposes 16-bit elements alone
  static constexpr int kRows = kRowsAreK ? kTileK : kExtent;
  static constexpr int kColumns = kRowsAreK ? kExtent : kTileK;
  using Layout = SharedTile<kRows, kColumns * kElementBytes, kChunksPerLoad>;

  const uint8_t* origin;  // at k = 0
  int64_t row_pitch;
  int extent;  // rows or columns left in the matrix
  Access access;

  __device__ __forceinline__ Operand(const void* base, int64_t ld, int first, int end)
      : origin(static_cast<const uint8_t*>(base) + (kRowsAreK ? first : first * ld) * kElementBytes),
        row_pitch(ld * kElementBytes),
        extent(end - first),
        // Columns that run along the extent end inside this tile at the edge of C only.
        access(widest_access<kElementBytes>(ld, kRowsAreK && extent < kExtent ? extent : 0)) {}

  // A, of which a tile has the rows from `first` on.
  template <typename Args>
  __device__ __forceinline__ static Operand of_a(const Args& args, int first, int end) {
    return Operand(args.a, args.lda, first, end);
  }

  // Copies the tile at `k_origin`, of which `k_left` (any number) is inside the matrix.
  __device__ __forceinline__ void copy_last(uint32_t shared, int64_t k_origin, int k_left) const {
    const Access last = kRowsAreK ? access : widest_access<kElementBytes>(row_pitch / kElementBytes, k_left);
    copy_tile<kElementBytes, Layout, kThreads, Check::kBoth>(shared, at(k_origin, k_left, extent), threadIdx.x, last);
  }

  // Copies a tile that is inside the matrix along K, or zeros if it does not exist.
  template <bool kVectorOnly>
  __device__ __forceinline__ void copy_whole(uint32_t shared, int64_t k_origin, bool exists) const {
    constexpr Check kCheck = kRowsAreK ? Check::kColumns : Check::kRows;
    copy<kVectorOnly, kCheck>(shared, at(k_origin, kTileK, exists ? extent : 0), access);
  }

  // The lane's place in the tile for ldmatrix: 16 rows or columns by 32 bytes of K from `first` on and k = 0. A: rows, then the second
  // 16 bytes of K. B: the 8x8 matrices in the order of the mma's registers, both of the first 8 columns before the others.
  __device__ __forceinline__ static uint32_t lane_offset_a(int first) {
    const int lane = threadIdx.x % kWarpSize;
    if constexpr (kRowsAreK) return Layout::offset(lane / 16 * 8 + lane % 8, first / 8 + lane / 8 % 2);
    return Layout::offset(first + lane % 16, lane / 16);
  }
  __device__ __forceinline__ static uint32_t lane_offset_b(int first) {
    const int lane = threadIdx.x % kWarpSize;
    if constexpr (kRowsAreK) return Layout::offset(lane % 16, first / 8 + lane / 16);
    return Layout::offset(first + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  }

  // Address of the block of 16 `block` along the extent at step `step` along K. The chunk moves by an XOR, as no bit
  // of the lane's chunk is in the way, and the row by an addition that leaves the swizzle as it is.
  __device__ __forceinline__ static uint32_t fragment_address(uint32_t tile, uint32_t lane_offset, int block,
                                                              int step) {
    const int chunk_index = kRowsAreK ? block : step;
    const int row_index = kRowsAreK ? step : block;
    return tile + (lane_offset ^ (chunk_index * 2 * kChunkBytes)) + row_index * kBlock * Layout::kRowPitch;
  }

 private:
  __device__ __forceinline__ GlobalTile at(int64_t k_origin, int k_left, int extent_left) const {
    const int64_t k_pitch = kRowsAreK ? row_pitch : kElementBytes;
    const uint8_t* first = origin + k_origin * k_pitch;
    if constexpr (kRowsAreK) return GlobalTile{first, row_pitch, k_left, extent_left};
    return GlobalTile{first, row_pitch, extent_left, k_left};
  }

 protected:
  template <bool kVectorOnly, Check kCheck, typename Tile>
  __device__ __forceinline__ static void copy(uint32_t shared, const Tile& tile, Access access) {
    if constexpr (kVectorOnly) {
      copy_tile<kElementBytes, Layout, kThreads, Access::kVector, kCheck>(shared, tile, threadIdx.x);
    } else {
      copy_tile<kElementBytes, Layout, kThreads, kCheck>(shared, tile, threadIdx.x, access);
    }
  }
};

}  // namespace autokernel::sm80
