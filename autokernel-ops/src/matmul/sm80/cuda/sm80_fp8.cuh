// What products of floats of 8 bits have of their own.
//
// Stands before sm80_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "ptx/sm80_mma_fp8.cuh"
#include "sm80_elements.cuh"

namespace autokernel::sm80 {

template <typename Input>
struct MmaOfBytes {
  using Sum = float;

  __device__ __forceinline__ static void multiply(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ptx::mma_m16n8k32<Input>(d, a, b0, b1);
  }
};

template <>
struct Mma<e4m3> : MmaOfBytes<e4m3> {};
template <>
struct Mma<e5m2> : MmaOfBytes<e5m2> {};

}  // namespace autokernel::sm80
