// Groups along K: rows of two matrices lie in groups, and each group has a product of its own, summed over its rows alone.
//
// Where groups begin stands in device memory and may be anything, as in groups.cuh.
#pragma once

#include "batch.cuh"
#include "types.cuh"

namespace autokernel::groups {

// Wraps an emitted Batch whose products differ in what they sum: args.batch + 1 offsets along K are at
// Batch::offsets(args).
template <typename Batch>
struct AlongK : Batch {};

// The part of K that a group sums.
struct Depth {
  int first;
  int count;
};

// Finds it, fastest where groups are asked for in order.
struct DepthCursor {
  const int32_t* offsets;
  int k;  // rows of all groups, and of none
  int group = 0;
  int begin, end;

  __device__ __forceinline__ DepthCursor(const int32_t* all, int rows) : offsets(all), k(rows) { rewind(); }

  __device__ __forceinline__ Depth seek(int wanted) {
    if (wanted < group) rewind();
#pragma unroll 4
    for (; group < wanted; ++group) {
      begin = end;
      end = after(begin, group + 2);
    }
    return {begin, end - begin};
  }

 private:
  __device__ __forceinline__ int after(int before, int at) const { return max(before, min(__ldg(offsets + at), k)); }
  __device__ __forceinline__ void rewind() {
    group = 0;
    begin = after(0, 0);
    end = after(begin, 1);
  }
};

}  // namespace autokernel::groups
