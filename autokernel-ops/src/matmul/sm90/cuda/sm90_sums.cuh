// What sums of products are kept as until they are whole, by the type of the factors.
#pragma once

#include "types.cuh"

namespace autokernel::sm90 {

template <typename Input>
struct SumsOf {
  using Sum = float;

  static constexpr bool has_width(int) { return true; }  // of those that other rules leave

  // Four neighbours, as they pass from one CTA to another.
  __device__ __forceinline__ static float4 packed(const Sum* sums) { return {sums[0], sums[1], sums[2], sums[3]}; }

  __device__ __forceinline__ static void add(Sum* sums, float4 others) {
    sums[0] += others.x;
    sums[1] += others.y;
    sums[2] += others.z;
    sums[3] += others.w;
  }
};

// Whole sums as epilogues and bodies take them. fp32 ones stay where they are.
template <typename G, typename Sum = typename G::Sum>
struct WholeSums {
  float (&blocks)[G::kBlocks][G::kWidth / 2];

  __device__ __forceinline__ explicit WholeSums(float (&sums)[G::kBlocks][G::kWidth / 2]) : blocks(sums) {}
};

}  // namespace autokernel::sm90
