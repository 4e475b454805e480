// What one number of each row comes to over all rows: the largest magnitude of a whole result, the mean of a batch's losses.
//
// The warps that bring rows together (`body_statistics.cuh`) fold those of their share and leave a total; the one that comes last folds the
// totals, in their order whoever that is, so that two runs give the same bits. Total t of fold f lies at f * shares + t.
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

// What a warp's share of the rows comes to: of each lane its rows. All lanes `leave` it.
template <typename Body, int kCount = kFolds<Body>>
struct Folded {
  float values[kCount];

  __device__ __forceinline__ Folded() {
#pragma unroll
    for (int fold = 0; fold < kCount; ++fold) values[fold] = Body::identity_of_fold(fold);
  }

  // What becomes of a row.
  template <typename Args, int kReduced>
  __device__ __forceinline__ void finish(const Args& args, int row, const float (&reduced)[kReduced]) {
    float of_row[kCount];
    Body::finish(args, row, reduced, of_row);
#pragma unroll
    for (int fold = 0; fold < kCount; ++fold) values[fold] = Body::combine_folded(fold, values[fold], of_row[fold]);
  }

  // Leaves the total of one of so many shares, and where all others have left theirs folds what they come to.
  template <typename Args>
  __device__ __forceinline__ void leave(const Args& args, int share, int shares) {
    float* const totals = static_cast<float*>(args.totals);
    uint32_t* const folded_shares = static_cast<uint32_t*>(args.folded_shares);
    const int lane = threadIdx.x % kWarpSize;
    fold_lanes<Body>(values);
    bool is_last = false;
    if (lane == 0) {
#pragma unroll
      for (int fold = 0; fold < kCount; ++fold) totals[fold * shares + share] = values[fold];
      is_last = ptx::fetch_add_ordered(folded_shares, 1) == static_cast<uint32_t>(shares - 1);
      if (is_last) *folded_shares = 0;
    }
    if (!__shfl_sync(~0u, is_last, 0)) return;
    __syncwarp();  // what lane 0 has seen is there for all
#pragma unroll
    for (int fold = 0; fold < kCount; ++fold) {
      values[fold] = Body::identity_of_fold(fold);
      for (int total = lane; total < shares; total += kWarpSize) {
        values[fold] = Body::combine_folded(fold, values[fold], __ldcg(totals + fold * shares + total));
      }
    }
    fold_lanes<Body>(values);
    if (lane == 0) Body::store_folded(args, values);
  }
};

// Of a body that folds nothing.
template <typename Body>
struct Folded<Body, 0> {
  template <typename Args, int kReduced>
  __device__ __forceinline__ void finish(const Args& args, int row, const float (&reduced)[kReduced]) {
    Body::finish(args, row, reduced);
  }
  template <typename Args>
  __device__ __forceinline__ void leave(const Args&, int, int) {}
};

}  // namespace autokernel::body
