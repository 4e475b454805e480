// The reference of groups that numbers in device memory tell in other ways than by offsets of rows; see reference_matmul.cuh.
#pragma once

#include "reference_matmul.cuh"

namespace autokernel::reference {

// Every so many blocks' tile of one product, of the `args.m` rows from the first on.
template <typename Problem, typename Body, int kProducts, typename Args>
__device__ __forceinline__ void matmul_of_one(const Args& args) {
  const int64_t tiles = ceil_div<int64_t>(args.m, kTile) * ceil_div<int64_t>(args.n, kTile);
  const int64_t step = int64_t(gridDim.x) * gridDim.y;
  for (int64_t tile = int64_t(blockIdx.y) * gridDim.x + blockIdx.x; tile < tiles; tile += step) {
    matmul_tile<Problem, Body, kProducts>(args, tile);
  }
}

// Slots of rows: a count that is out of range is the nearest that is not.
template <typename Problem, typename Body, int kProducts, typename Batch, typename Args>
__device__ __forceinline__ void matmul_of_counts(const Args& args) {
  static_assert(Batch::kMany == batch::Many::kGroups, "rows are counted");
  for (int group = 0; group < args.batch; ++group) {
    Args seen = Batch::of(args, group);
    seen.m = min(max(Batch::counts(args)[group], 0), args.m);
    matmul_of_one<Problem, Body, kProducts>(seen);
  }
}

// Parts of K: an offset that is out of order or range begins where the group before ends.
template <typename Problem, typename Body, int kProducts, typename Batch, typename Args>
__device__ __forceinline__ void matmul_along_k(const Args& args) {
  static_assert(Batch::kMany == batch::Many::kBatch, "each part of K is a product of a batch");
  const int32_t* const offsets = Batch::offsets(args);
  int begin = min(max(offsets[0], 0), args.k);
  for (int group = 0; group < args.batch; ++group) {
    const int end = max(begin, min(offsets[group + 1], args.k));
    matmul_of_one<Problem, Body, kProducts>(Batch::along_k(Batch::of(args, group), begin, end - begin));
    begin = end;
  }
}

}  // namespace autokernel::reference
