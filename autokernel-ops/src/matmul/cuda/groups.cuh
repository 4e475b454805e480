// Groups of any size, which numbers in device memory tell: how their tiles are counted and found.
//
// Those numbers may be anything. An offset is taken for at least the one before it, at least 0 and at most the rows that there
// are, so that groups lie in order inside of the operands; a count for at least 0 and at most the rows of a slot. Rows of no group
// are left alone. An emitted Batch names the kind as Batch::Sizes, and says where the numbers are.
#pragma once

#include "batch.cuh"
#include "types.cuh"

namespace autokernel::groups {

// The rows of a group.
struct Rows {
  int begin;
  int end;
};

// Whole warps count, a group a lane: adds up `count` of each lane.
__device__ __forceinline__ int add_up(int count) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) count += __shfl_xor_sync(~0u, count, distance);
  return count;
}

// Groups lie one after the other: where each begins, and behind them where the last one ends.
struct Offsets {
  const int32_t* first;
  int groups;
  int rows;  // of all groups, and of none

  template <typename Batch, typename Args>
  __device__ __forceinline__ static Offsets of(const Args& args) {
    return {Batch::offsets(args), args.groups, args.m};
  }

  // Number `at` of them, where the one before is `before`.
  __device__ __forceinline__ int after(int before, int at) const { return max(before, min(__ldg(first + at), rows)); }

  // Group after group.
  __device__ __forceinline__ Rows begin() const {
    const int begin = after(0, 0);
    return {begin, after(begin, min(1, groups))};
  }
  __device__ __forceinline__ Rows next(Rows before, int group) const { return {before.end, after(before.end, group + 1)}; }

  // Tiles of `tile` rows that all groups have.
  __device__ __forceinline__ int count_tiles(int tile) const {
    const int lane = threadIdx.x % kWarpSize;
    int before = after(0, 0);  // where the groups of this warp's turn begin
    int tiles = 0;
#pragma unroll 1
    for (int turn = 0; turn < groups; turn += kWarpSize) {
      int end = after(before, min(turn + lane + 1, groups));
#pragma unroll
      for (int distance = 1; distance < kWarpSize; distance *= 2) {  // the greatest up to this lane's
        const int other = __shfl_up_sync(~0u, end, distance);
        if (lane >= distance) end = max(end, other);
      }
      const int of_neighbour = __shfl_up_sync(~0u, end, 1);
      tiles += ceil_div(end - (lane == 0 ? before : of_neighbour), tile);
      before = __shfl_sync(~0u, end, kWarpSize - 1);
    }
    return add_up(tiles);
  }
};

// Each group has a slot of as many rows: how many of them it has, from the first on.
struct Counts {
  const int32_t* first;
  int groups;
  int rows;  // of a slot

  template <typename Batch, typename Args>
  __device__ __forceinline__ static Counts of(const Args& args) {
    return {Batch::counts(args), args.batch, args.m};
  }

  __device__ __forceinline__ int count(int group) const { return max(0, min(__ldg(first + group), rows)); }

  __device__ __forceinline__ Rows begin() const { return {0, groups > 0 ? count(0) : 0}; }
  __device__ __forceinline__ Rows next(Rows, int group) const { return {0, count(group)}; }

  __device__ __forceinline__ int count_tiles(int tile) const {
    int tiles = 0;
#pragma unroll 1
    for (int group = threadIdx.x % kWarpSize; group < groups; group += kWarpSize) tiles += ceil_div(count(group), tile);
    return add_up(tiles);
  }
};

// A group, and the tiles of those before it. Tiles are numbered group by group.
template <typename Sizes>
struct Cursor {
  Sizes sizes;
  int tile;     // its rows
  int columns;  // tiles side by side
  int group = 0;
  Rows rows;
  int before = 0;  // tiles along M

  __device__ __forceinline__ Cursor(const Sizes& all, int tile_rows, int tiles_n)
      : sizes(all), tile(tile_rows), columns(tiles_n) {
    rewind();
  }

  __device__ __forceinline__ int tiles_m() const { return ceil_div(rows.end - rows.begin, tile); }

  // To the group that has tile `number`, which there is; gives the number of the tile there.
  __device__ __forceinline__ int seek(int number) {
    if (number < before * columns) rewind();
#pragma unroll 1
    while (number >= (before + tiles_m()) * columns) {
      before += tiles_m();
      ++group;
      rows = sizes.next(rows, group);
    }
    return number - before * columns;
  }

 private:
  __device__ __forceinline__ void rewind() {
    group = before = 0;
    rows = sizes.begin();
  }
};

}  // namespace autokernel::groups
