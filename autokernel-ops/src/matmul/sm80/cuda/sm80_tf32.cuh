// What products of fp32 as tf32 have of their own.
//
// Stands before sm80_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "ptx/sm80_mma_tf32.cuh"
#include "sm80_elements.cuh"

namespace autokernel::sm80 {

template <>
struct Mma<f32> {
  using Sum = float;

  __device__ __forceinline__ static void multiply(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ptx::mma_m16n8k8_tf32(d, a, b0, b1);
  }
};

}  // namespace autokernel::sm80
