// wgmma of whole numbers of 8 bits: one warpgroup multiplies a 64x32 block of A by a 32xN block of B, both in shared memory and
// K-major, into registers of 32 bits. Sums are exact, and wrap around beyond 2^31. A thread holds of them what it holds of
// others (sm90_wgmma.cuh).
//
// N is 8, 24 or a multiple of 16 up to 256: of the widths between, PTX has none for whole numbers.
#pragma once

#include "../int8.cuh"
#include "sm90_wgmma.cuh"

namespace autokernel::ptx {

template <int kRegisters>
__device__ __forceinline__ void pin_accumulators(int32_t (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    asm volatile("" : "+r"(d[i])::"memory");
  }
}

template <int kRegisters>
__device__ __forceinline__ void forget_accumulators(int32_t (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "=r"(d[i]));
}

// clang-format off
// The lists of sm90_wgmma.cuh are of quads: here of whole numbers.
#pragma push_macro("AUTOKERNEL_D_QUAD")
#undef AUTOKERNEL_D_QUAD
#define AUTOKERNEL_D_QUAD(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])

// A, B, FLAG: the numbers of the operands that follow the 4 * J accumulators. Whole numbers have no signs of A and B.
#define AUTOKERNEL_WGMMA(N, J, A, B, FLAG)                                                             \
  template <bool kAMajorM, bool kBMajorN>                                                              \
  struct Wgmma<i8, kAMajorM, kBMajorN, N> {                                                            \
    static_assert(!kAMajorM && !kBMajorN, "8-bit operands are K-major");                               \
    __device__ __forceinline__ static void run(int32_t (&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) { \
      asm volatile(                                                                                    \
          "{\n"                                                                                        \
          ".reg .pred accumulate;\n"                                                                   \
          "setp.ne.b32 accumulate, %" #FLAG ", 0;\n"                                                   \
          "wgmma.mma_async.sync.aligned.m64n" #N "k32.s32.s8.s8"                                       \
          " {" AUTOKERNEL_D_TEXT_##J "}, %" #A ", %" #B ", accumulate;\n"                              \
          "}"                                                                                          \
          : AUTOKERNEL_D_LIST_##J                                                                      \
          : "l"(a), "l"(b), "r"(int(accumulate)));                                                     \
    }                                                                                                  \
  };

AUTOKERNEL_WGMMA(8, 1, 4, 5, 6)
AUTOKERNEL_WGMMA(16, 2, 8, 9, 10)
AUTOKERNEL_WGMMA(24, 3, 12, 13, 14)
AUTOKERNEL_WGMMA(32, 4, 16, 17, 18)
AUTOKERNEL_WGMMA(48, 6, 24, 25, 26)
AUTOKERNEL_WGMMA(64, 8, 32, 33, 34)
AUTOKERNEL_WGMMA(80, 10, 40, 41, 42)
AUTOKERNEL_WGMMA(96, 12, 48, 49, 50)
AUTOKERNEL_WGMMA(112, 14, 56, 57, 58)
AUTOKERNEL_WGMMA(128, 16, 64, 65, 66)
AUTOKERNEL_WGMMA(144, 18, 72, 73, 74)
AUTOKERNEL_WGMMA(160, 20, 80, 81, 82)
AUTOKERNEL_WGMMA(176, 22, 88, 89, 90)
AUTOKERNEL_WGMMA(192, 24, 96, 97, 98)
AUTOKERNEL_WGMMA(208, 26, 104, 105, 106)
AUTOKERNEL_WGMMA(224, 28, 112, 113, 114)
AUTOKERNEL_WGMMA(240, 30, 120, 121, 122)
AUTOKERNEL_WGMMA(256, 32, 128, 129, 130)

#undef AUTOKERNEL_WGMMA
#pragma pop_macro("AUTOKERNEL_D_QUAD")
// clang-format on

}  // namespace autokernel::ptx
