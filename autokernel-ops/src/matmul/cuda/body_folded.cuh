// What one number of each row comes to over all rows: the largest magnitude of a whole result, the mean of a batch's losses.
//
// The blocks that bring rows together (`body_statistics.cuh`) fold their rows and leave a total; the one that comes last folds the totals,
// in their order whoever that is, so that two runs give the same bits. Total t of fold f lies at f * blocks + t.
//
// The emitted `struct Body` says how: how many folds there are, what each begins with and how two numbers become one, and
// `store_folded`, which writes what they come to. Its `finish` gives each row's numbers.
#pragma once

#include "ptx/atomic.cuh"
#include "types.cuh"

namespace autokernel::body {

// How many there are. Only bodies that have some say it.
template <typename Body, typename = void>
constexpr int kFolds = 0;
template <typename Body>
constexpr int kFolds<Body, decltype(void(Body::kFolds))> = Body::kFolds;

template <typename Body, int kCount>
__device__ __forceinline__ void fold_lanes(float (&folded)[kCount]) {
#pragma unroll
  for (int fold = 0; fold < kCount; ++fold) {
#pragma unroll
    for (int mask = 1; mask < kWarpSize; mask *= 2) {
      folded[fold] = Body::combine_folded(fold, folded[fold], __shfl_xor_sync(~0u, folded[fold], mask));
    }
  }
}

// Folds a number of each of the warp's lanes, and of the last warp that comes here what all have left. One warp of each of so many blocks.
template <typename Body, typename Args, int kCount>
__device__ __forceinline__ void fold_rows(const Args& args, int blocks, float (&folded)[kCount]) {
  float* const totals = static_cast<float*>(args.totals);
  uint32_t* const folded_blocks = static_cast<uint32_t*>(args.folded_blocks);
  const int lane = threadIdx.x % kWarpSize;
  fold_lanes<Body>(folded);
  bool is_last = false;
  if (lane == 0) {
#pragma unroll
    for (int fold = 0; fold < kCount; ++fold) totals[fold * blocks + blockIdx.x] = folded[fold];
    is_last = ptx::fetch_add_ordered(folded_blocks, 1) == static_cast<uint32_t>(blocks - 1);
    if (is_last) *folded_blocks = 0;
  }
  if (!__shfl_sync(~0u, is_last, 0)) return;
  __syncwarp();  // what lane 0 has seen is there for all
#pragma unroll
  for (int fold = 0; fold < kCount; ++fold) {
    folded[fold] = Body::identity_of_fold(fold);
    for (int total = lane; total < blocks; total += kWarpSize) {
      folded[fold] = Body::combine_folded(fold, folded[fold], totals[fold * blocks + total]);
    }
  }
  fold_lanes<Body>(folded);
  if (lane == 0) Body::store_folded(args, folded);
}

// What becomes of a row, of which each lane of a block's first warp has one. Rows that are not there come here where they are folded.
template <typename Body, typename Args, int kCount>
__device__ __forceinline__ void finish_row(const Args& args, int row, int blocks, const float (&reduced)[kCount]) {
  if constexpr (kFolds<Body> == 0) {
    Body::finish(args, row, reduced);
  } else {
    float folded[kFolds<Body>];
#pragma unroll
    for (int fold = 0; fold < kFolds<Body>; ++fold) folded[fold] = Body::identity_of_fold(fold);
    if (row < args.m) Body::finish(args, row, reduced, folded);
    fold_rows<Body>(args, blocks, folded);
  }
}

}  // namespace autokernel::body
