// wgmma with A in registers: one warpgroup multiplies a 64x16 block of A, which its threads hold as packed pairs, by a 16xN
// block of B in shared memory. What a thread holds of A is what it holds of an accumulator of the same rows (PTX ISA,
// "Register Fragments for wgmma.mma_async.m64nNk16"): of columns 16k .. 16k + 15 the pairs at d[8k], d[8k + 2], d[8k + 4]
// and d[8k + 6]. So a product's sums, rounded, are the next one's A and never leave their registers.
#pragma once

#include "sm90_wgmma.cuh"

namespace autokernel::ptx {

// d += a * b. `b` is a matrix descriptor; N is a multiple of 8 in 8..256.
template <typename Input, bool kBMajorN, int N>
struct WgmmaRegisters;

// clang-format off
// A0 .. A3, B, MAJOR_B: the numbers of the operands that follow the 4 * J accumulators.
#define AUTOKERNEL_WGMMA_ASM(TYPE, N, J, A0, A1, A2, A3, B, MAJOR_B)                             \
  asm volatile(                                                                                        \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                                  \
      " {" AUTOKERNEL_D_TEXT_##J "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B                   \
      ", 1, 1, 1, %" #MAJOR_B ";"                                                                      \
      : AUTOKERNEL_D_LIST_##J                                                                          \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(int(kBMajorN)))

#define AUTOKERNEL_WGMMA(N, J, A0, A1, A2, A3, B, MAJOR_B)                                       \
  template <typename Input, bool kBMajorN>                                                             \
  struct WgmmaRegisters<Input, kBMajorN, N> {                                                          \
    __device__ __forceinline__ static void run(float (&d)[N / 2], const uint32_t* a, uint64_t b) {   \
      if constexpr (DtypeOf<Input>::value == Dtype::kBf16) {                                           \
        AUTOKERNEL_WGMMA_ASM("bf16", N, J, A0, A1, A2, A3, B, MAJOR_B);                          \
      } else {                                                                                         \
        static_assert(DtypeOf<Input>::value == Dtype::kF16, "A in registers has 16 bits");             \
        AUTOKERNEL_WGMMA_ASM("f16", N, J, A0, A1, A2, A3, B, MAJOR_B);                           \
      }                                                                                                \
    }                                                                                                  \
  };

AUTOKERNEL_WGMMA(8, 1, 4, 5, 6, 7, 8, 9)
AUTOKERNEL_WGMMA(16, 2, 8, 9, 10, 11, 12, 13)
AUTOKERNEL_WGMMA(24, 3, 12, 13, 14, 15, 16, 17)
AUTOKERNEL_WGMMA(32, 4, 16, 17, 18, 19, 20, 21)
AUTOKERNEL_WGMMA(40, 5, 20, 21, 22, 23, 24, 25)
AUTOKERNEL_WGMMA(48, 6, 24, 25, 26, 27, 28, 29)
AUTOKERNEL_WGMMA(56, 7, 28, 29, 30, 31, 32, 33)
AUTOKERNEL_WGMMA(64, 8, 32, 33, 34, 35, 36, 37)
AUTOKERNEL_WGMMA(72, 9, 36, 37, 38, 39, 40, 41)
AUTOKERNEL_WGMMA(80, 10, 40, 41, 42, 43, 44, 45)
AUTOKERNEL_WGMMA(88, 11, 44, 45, 46, 47, 48, 49)
AUTOKERNEL_WGMMA(96, 12, 48, 49, 50, 51, 52, 53)
AUTOKERNEL_WGMMA(104, 13, 52, 53, 54, 55, 56, 57)
AUTOKERNEL_WGMMA(112, 14, 56, 57, 58, 59, 60, 61)
AUTOKERNEL_WGMMA(120, 15, 60, 61, 62, 63, 64, 65)
AUTOKERNEL_WGMMA(128, 16, 64, 65, 66, 67, 68, 69)
AUTOKERNEL_WGMMA(136, 17, 68, 69, 70, 71, 72, 73)
AUTOKERNEL_WGMMA(144, 18, 72, 73, 74, 75, 76, 77)
AUTOKERNEL_WGMMA(152, 19, 76, 77, 78, 79, 80, 81)
AUTOKERNEL_WGMMA(160, 20, 80, 81, 82, 83, 84, 85)
AUTOKERNEL_WGMMA(168, 21, 84, 85, 86, 87, 88, 89)
AUTOKERNEL_WGMMA(176, 22, 88, 89, 90, 91, 92, 93)
AUTOKERNEL_WGMMA(184, 23, 92, 93, 94, 95, 96, 97)
AUTOKERNEL_WGMMA(192, 24, 96, 97, 98, 99, 100, 101)
AUTOKERNEL_WGMMA(200, 25, 100, 101, 102, 103, 104, 105)
AUTOKERNEL_WGMMA(208, 26, 104, 105, 106, 107, 108, 109)
AUTOKERNEL_WGMMA(216, 27, 108, 109, 110, 111, 112, 113)
AUTOKERNEL_WGMMA(224, 28, 112, 113, 114, 115, 116, 117)
AUTOKERNEL_WGMMA(232, 29, 116, 117, 118, 119, 120, 121)
AUTOKERNEL_WGMMA(240, 30, 120, 121, 122, 123, 124, 125)
AUTOKERNEL_WGMMA(248, 31, 124, 125, 126, 127, 128, 129)
AUTOKERNEL_WGMMA(256, 32, 128, 129, 130, 131, 132, 133)

#undef AUTOKERNEL_WGMMA
#undef AUTOKERNEL_WGMMA_ASM
// clang-format on

}  // namespace autokernel::ptx
