// mma of fp32 as tf32. Of each factor the sign, the exponent and the upper 10 bits of the fraction count: the lower 13 are ignored, which
// rounds towards zero.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// d[16x8] += a[16x8] * b[8x8]. Lane l holds of d what it holds of other sums (sm80.cuh); of a word i is column l % 4 + 4 * (i / 2) of row
// l / 4 + 8 * (i % 2), of b row l % 4 + 4 * i of column l / 4.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace autokernel::ptx
