// mma of whole numbers of 8 bits. Sums are exact, and wrap around beyond 2^31.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// d[16x8] += a[16x32] * b[32x8]. Lane l holds of d what it holds of other sums (sm80.cuh); of a word i is columns 4 * (l % 4) + 16 * (i / 2)
// and the next three of row l / 4 + 8 * (i % 2), of b rows 4 * (l % 4) + 16 * i and the next three of column l / 4.
__device__ __forceinline__ void mma_m16n8k32_s8(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace autokernel::ptx
