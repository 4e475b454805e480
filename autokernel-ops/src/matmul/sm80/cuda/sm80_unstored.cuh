// A product of the sm80 family whose body writes no elements: nothing is staged, and nothing stored.
#pragma once

#include "sm80_matmul.cuh"

namespace autokernel::sm80 {

template <typename Problem>
struct Unstored : Problem {};

template <typename Problem, int kWarpColumns>
struct SlabStore<Unstored<Problem>, kWarpColumns> {
  __device__ __forceinline__ static void stage(uint32_t, const float (*)[4]) {
    static_cast<void>(Problem::epilogue(0.0f));  // emitted for every product, and what is never referenced is an error
  }
  __device__ __forceinline__ static void store(uint32_t, const OutputSlab<typename Problem::Output>&) {}
};

}  // namespace autokernel::sm80
