// The tensor core's mma of one warp, and what loads its fragments, beside the accumulators of wgmma: a warp's part of m64nNk16 is for each
// 8 columns what mma.m16n8k16 leaves, so that what follows a main loop need not know which it was.
#pragma once

#include "../types.cuh"

namespace autokernel::ptx {

// d[16x8] += a[16x16] * b[16x8]; `d` are four accumulators of wgmma from one of its 8 columns on. Of a warp's lane l: of a the rows l / 4
// and 8 below it at the pairs l % 4, then both 8 along K; of b column l / 4 at those pairs. Not volatile: the compiler may schedule it
// among loads.
template <typename Input>
__device__ __forceinline__ void mma_m16n8k16_to(float* d, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (DtypeOf<Input>::value == Dtype::kBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(DtypeOf<Input>::value == Dtype::kF16, "factors have 16 bits");
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Four 8x8 matrices of 16-bit elements, or of 8 rows of 16 bytes whatever lies there: lane l passes the address of row l % 8 of matrix
// l / 8 and receives of each matrix word l % 4 of row l / 4.
__device__ __forceinline__ void load_matrices(uint32_t address, uint32_t (&words)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

// 16 bytes of a lane's own.
__device__ __forceinline__ void load_shared(uint32_t address, uint32_t (&words)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

}  // namespace autokernel::ptx
