// Groups of rows, each multiplied with a second factor of its own: how tiles of groups of any size are counted and found.
//
// Where groups begin stands in device memory and may be anything. Each offset is taken for at least the one before it, at least
// 0 and at most the rows that there are, so that groups lie in order inside of the operands, and rows of none are left alone.
#pragma once

#include "batch.cuh"
#include "types.cuh"

namespace autokernel::groups {

// The offsets of a launch.
struct Offsets {
  const int32_t* first;
  int groups;
  int rows;

  template <typename Batch, typename Args>
  __device__ __forceinline__ static Offsets of(const Args& args) {
    return {Batch::offsets(args), args.groups, args.m};
  }

  // Number `at` of them, where the one before is `before`.
  __device__ __forceinline__ int after(int before, int at) const { return max(before, min(__ldg(first + at), rows)); }
};

// Tiles of `tile` rows that all groups have. Whole warps count, a group a lane.
__device__ __forceinline__ int count_tiles(const Offsets& offsets, int tile) {
  const int lane = threadIdx.x % kWarpSize;
  int before = offsets.after(0, 0);  // where the groups of this warp's turn begin
  int tiles = 0;
#pragma unroll 1
  for (int first = 0; first < offsets.groups; first += kWarpSize) {
    int end = offsets.after(before, min(first + lane + 1, offsets.groups));
#pragma unroll
    for (int distance = 1; distance < kWarpSize; distance *= 2) {  // the greatest up to this lane's
      const int other = __shfl_up_sync(~0u, end, distance);
      if (lane >= distance) end = max(end, other);
    }
    const int of_neighbour = __shfl_up_sync(~0u, end, 1);
    tiles += ceil_div(end - (lane == 0 ? before : of_neighbour), tile);
    before = __shfl_sync(~0u, end, kWarpSize - 1);
  }
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) tiles += __shfl_xor_sync(~0u, tiles, distance);
  return tiles;
}

// A group, and the tiles of those before it. Tiles are numbered group by group.
struct Cursor {
  Offsets offsets;
  int tile;     // its rows
  int columns;  // tiles side by side
  int group = 0;
  int begin, end;  // its rows
  int before = 0;  // tiles along M

  __device__ __forceinline__ Cursor(const Offsets& all, int tile_rows, int tiles_n)
      : offsets(all), tile(tile_rows), columns(tiles_n) {
    rewind();
  }

  __device__ __forceinline__ int tiles_m() const { return ceil_div(end - begin, tile); }

  // To the group that has tile `number`, which there is; gives the number of the tile there.
  __device__ __forceinline__ int seek(int number) {
    if (number < before * columns) rewind();
#pragma unroll 1
    while (number >= (before + tiles_m()) * columns) {
      before += tiles_m();
      ++group;
      begin = end;
      end = offsets.after(begin, group + 1);
    }
    return number - before * columns;
  }

 private:
  __device__ __forceinline__ void rewind() {
    group = before = 0;
    begin = offsets.after(0, 0);
    end = offsets.after(begin, min(1, offsets.groups));
  }
};

}  // namespace autokernel::groups
