// The tiles of groups that a block computes: every so many blocks' one, group after group, each in its raster.
#pragma once

#include "groups.cuh"
#include "sm80_matmul.cuh"

namespace autokernel::sm80 {

template <typename Batch>
struct PartOf<Batch, batch::Many::kGroups> {
  // Calls `compute` with what each tile's product has of `args`, its rows, and the number of the tile there.
  template <int kTileM, typename Args, typename Compute>
  __device__ __forceinline__ static void visit(const Args& args, int tiles_n, const Compute& compute) {
    const auto sizes = Batch::Sizes::template of<Batch>(args);
    const int count = sizes.count_tiles(kTileM) * tiles_n;
    groups::Cursor cursor(sizes, kTileM, tiles_n);
#pragma unroll 1
    for (int number = blockIdx.x; number < count; number += gridDim.x) {
      const int tile = cursor.seek(number);
      compute(Batch::of(args, cursor.group), Rows{cursor.rows.begin, cursor.rows.end}, tile);
      __syncthreads();  // the slabs of this tile become the ring of the next one
    }
  }
};

}  // namespace autokernel::sm80
