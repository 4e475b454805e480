// What products of whole numbers of 8 bits have of their own: sums are whole numbers of 32 bits, exact in whatever order they are
// added, and become fp32 when they are whole. That rounds beyond 2^24, to the nearest even one.
//
// Stands before sm90_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "ptx/sm90_wgmma_s8.cuh"
#include "sm90_sums.cuh"

namespace autokernel::sm90 {

template <>
struct SumsOf<i8> {
  using Sum = int32_t;

  static constexpr bool has_width(int width) { return width == 8 || width == 24 || width % 16 == 0; }

  // The bits as they are: what passes them on does no arithmetic.
  __device__ __forceinline__ static float4 packed(const Sum* sums) {
    return {__int_as_float(sums[0]), __int_as_float(sums[1]), __int_as_float(sums[2]), __int_as_float(sums[3])};
  }

  __device__ __forceinline__ static void add(Sum* sums, float4 others) {
    sums[0] += __float_as_int(others.x);
    sums[1] += __float_as_int(others.y);
    sums[2] += __float_as_int(others.z);
    sums[3] += __float_as_int(others.w);
  }
};

template <typename G>
struct WholeSums<G, int32_t> {
  float blocks[G::kBlocks][G::kWidth / 2];

  __device__ __forceinline__ explicit WholeSums(const int32_t (&sums)[G::kBlocks][G::kWidth / 2]) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) blocks[block][i] = static_cast<float>(sums[block][i]);
    }
  }
};

}  // namespace autokernel::sm90
