// What products of whole numbers of 8 bits have of their own: sums are whole numbers of 32 bits, exact in whatever order they are
// added, and become fp32 when they are whole. That rounds beyond 2^24, to the nearest even one.
//
// Stands before sm80_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "int8.cuh"
#include "ptx/sm80_mma_s8.cuh"
#include "sm80_elements.cuh"

namespace autokernel::sm80 {

template <>
struct Mma<i8> {
  using Sum = int32_t;

  __device__ __forceinline__ static void multiply(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ptx::mma_m16n8k32_s8(d, a, b0, b1);
  }
};

template <int kRows, int kColumns>
struct WholeSums<int32_t, kRows, kColumns> {
  float fragments[kRows][kColumns][4];

  __device__ __forceinline__ explicit WholeSums(const int32_t (&sums)[kRows][kColumns][4]) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
#pragma unroll
        for (int i = 0; i < 4; ++i) fragments[row][column][i] = static_cast<float>(sums[row][column][i]);
      }
    }
  }
};

}  // namespace autokernel::sm80
