// Which product of a batch a block computes a tile of: product after product, each in its raster.
#pragma once

#include "sm80_matmul.cuh"

namespace autokernel::sm80 {

template <typename Batch>
struct PartOf<Batch, batch::Many::kBatch> {
  // Calls `compute` with what the block's product has of `args`, and with the number of its tile there.
  template <typename Args, typename Compute>
  __device__ __forceinline__ static void visit(const Args& args, int tiles, const Compute& compute) {
    const int product = blockIdx.x / tiles;
    compute(Batch::of(args, product), blockIdx.x - product * tiles);
  }
};

}  // namespace autokernel::sm80
