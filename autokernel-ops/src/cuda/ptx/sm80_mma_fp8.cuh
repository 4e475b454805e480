// mma of floats of 8 bits: GPUs from compute capability 8.9 on, and PTX ISA 8.4, nvcc 12.4.
#pragma once

#include "../types.cuh"

namespace autokernel::ptx {

// d[16x8] += a[16x32] * b[32x8]. Lane l holds of d what it holds of other sums (sm80.cuh); of a word i is columns 4 * (l % 4) + 16 * (i / 2)
// and the next three of row l / 4 + 8 * (i % 2), of b rows 4 * (l % 4) + 16 * i and the next three of column l / 4.
template <typename Input>
__device__ __forceinline__ void mma_m16n8k32(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ __forceinline__ void mma_m16n8k32<e4m3>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void mma_m16n8k32<e5m2>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace autokernel::ptx
