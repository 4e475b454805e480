// The order in which output tiles are visited.
//
// Consecutive tiles run at the same time, so their order decides what they share in L2. A group of `group` tiles along
// one axis (the fast one) is swept along the other (the slow one) before the next group begins: the group's operand
// stays in L2 while the other operand streams past once.
#pragma once

#include "types.cuh"

namespace autokernel {

enum class RasterOrder : int { kAlongM = 0, kAlongN = 1 };

struct Raster {
  RasterOrder order;  // the fast axis; kAlongM: neighbours differ in M first and share a column block of B
  int group;          // tiles of the fast axis that are visited before the slow axis moves on; >= 1
};

// The raster of a launch: two knobs that stand among every family's arguments.
template <typename Args>
__device__ __forceinline__ Raster raster_of(const Args& args) {
  return {static_cast<RasterOrder>(args.raster_order), args.raster_group};
}

struct TileCoord {
  int m;
  int n;
};

// Tile number `linear` in [0, tiles_m * tiles_n) to its place; a bijection for every group >= 1.
__device__ __forceinline__ TileCoord tile_coord(int linear, int tiles_m, int tiles_n, Raster raster) {
  const bool along_m = raster.order == RasterOrder::kAlongM;
  const int fast_tiles = along_m ? tiles_m : tiles_n;
  const int slow_tiles = along_m ? tiles_n : tiles_m;

  const int group = min(raster.group, fast_tiles);  // so that the product below is at most the number of tiles
  const int tiles_per_group = group * slow_tiles;
  const int group_index = linear / tiles_per_group;
  const int first_fast = group_index * group;
  const int group_size = min(group, fast_tiles - first_fast);  // the last group may be narrower
  const int within = linear - group_index * tiles_per_group;

  const int fast = first_fast + within % group_size;
  const int slow = within / group_size;
  return along_m ? TileCoord{fast, slow} : TileCoord{slow, fast};
}

}  // namespace autokernel
