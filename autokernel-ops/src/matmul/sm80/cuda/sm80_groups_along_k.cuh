// Groups along K: which product a block computes a tile of, and which rows of the factors that one sums.
#pragma once

#include "groups_along_k.cuh"
#include "sm80_matmul.cuh"

namespace autokernel::sm80 {

template <typename Batch>
struct PartOf<groups::AlongK<Batch>, batch::Many::kBatch> {
  // Calls `compute` with what the block's product has of `args`, its rows, and the number of the tile there.
  template <int kTileM, typename Args, typename Compute>
  __device__ __forceinline__ static void visit(const Args& args, int tiles_n, const Compute& compute) {
    const int tiles = static_cast<int>(ceil_div<int64_t>(args.m, kTileM)) * tiles_n;
    const int product = blockIdx.x / tiles;
    const groups::Depth depth = groups::DepthCursor(Batch::offsets(args), args.k).seek(product);
    compute(Batch::along_k(Batch::of(args, product), depth.first, depth.count), Rows{0, args.m}, blockIdx.x - product * tiles);
  }
};

}  // namespace autokernel::sm80
