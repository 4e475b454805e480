// wgmma of e4m3 and e5m2: as of either alone (sm90_wgmma.cuh), whose lists of registers these use.
#pragma once

#include "../fp8_pairs.cuh"
#include "sm90_wgmma.cuh"

namespace autokernel::ptx {

// clang-format off
// A, B, FLAG: the numbers of the operands that follow the 4 * J accumulators. The "1, 1" are the signs of A and B.
#define AUTOKERNEL_WGMMA_OF(PAIR, TYPES, N, J, A, B, FLAG)                                             \
  template <bool kAMajorM, bool kBMajorN>                                                              \
  struct Wgmma<PAIR, kAMajorM, kBMajorN, N> {                                                          \
    static_assert(!kAMajorM && !kBMajorN, "8-bit operands are K-major");                               \
    __device__ __forceinline__ static void run(float (&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) { \
      asm volatile(                                                                                    \
          "{\n"                                                                                        \
          ".reg .pred accumulate;\n"                                                                   \
          "setp.ne.b32 accumulate, %" #FLAG ", 0;\n"                                                   \
          "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32." TYPES                                      \
          " {" AUTOKERNEL_D_TEXT_##J "}, %" #A ", %" #B ", accumulate, 1, 1;\n"                        \
          "}"                                                                                          \
          : AUTOKERNEL_D_LIST_##J                                                                      \
          : "l"(a), "l"(b), "r"(int(accumulate)));                                                     \
    }                                                                                                  \
  };

#define AUTOKERNEL_WGMMA(N, J, A, B, FLAG)                                                             \
  AUTOKERNEL_WGMMA_OF(e4m3_by_e5m2, "e4m3.e5m2", N, J, A, B, FLAG)                                     \
  AUTOKERNEL_WGMMA_OF(e5m2_by_e4m3, "e5m2.e4m3", N, J, A, B, FLAG)

AUTOKERNEL_WGMMA(8, 1, 4, 5, 6)
AUTOKERNEL_WGMMA(16, 2, 8, 9, 10)
AUTOKERNEL_WGMMA(24, 3, 12, 13, 14)
AUTOKERNEL_WGMMA(32, 4, 16, 17, 18)
AUTOKERNEL_WGMMA(40, 5, 20, 21, 22)
AUTOKERNEL_WGMMA(48, 6, 24, 25, 26)
AUTOKERNEL_WGMMA(56, 7, 28, 29, 30)
AUTOKERNEL_WGMMA(64, 8, 32, 33, 34)
AUTOKERNEL_WGMMA(72, 9, 36, 37, 38)
AUTOKERNEL_WGMMA(80, 10, 40, 41, 42)
AUTOKERNEL_WGMMA(88, 11, 44, 45, 46)
AUTOKERNEL_WGMMA(96, 12, 48, 49, 50)
AUTOKERNEL_WGMMA(104, 13, 52, 53, 54)
AUTOKERNEL_WGMMA(112, 14, 56, 57, 58)
AUTOKERNEL_WGMMA(120, 15, 60, 61, 62)
AUTOKERNEL_WGMMA(128, 16, 64, 65, 66)
AUTOKERNEL_WGMMA(136, 17, 68, 69, 70)
AUTOKERNEL_WGMMA(144, 18, 72, 73, 74)
AUTOKERNEL_WGMMA(152, 19, 76, 77, 78)
AUTOKERNEL_WGMMA(160, 20, 80, 81, 82)
AUTOKERNEL_WGMMA(168, 21, 84, 85, 86)
AUTOKERNEL_WGMMA(176, 22, 88, 89, 90)
AUTOKERNEL_WGMMA(184, 23, 92, 93, 94)
AUTOKERNEL_WGMMA(192, 24, 96, 97, 98)
AUTOKERNEL_WGMMA(200, 25, 100, 101, 102)
AUTOKERNEL_WGMMA(208, 26, 104, 105, 106)
AUTOKERNEL_WGMMA(216, 27, 108, 109, 110)
AUTOKERNEL_WGMMA(224, 28, 112, 113, 114)
AUTOKERNEL_WGMMA(232, 29, 116, 117, 118)
AUTOKERNEL_WGMMA(240, 30, 120, 121, 122)
AUTOKERNEL_WGMMA(248, 31, 124, 125, 126)
AUTOKERNEL_WGMMA(256, 32, 128, 129, 130)

#undef AUTOKERNEL_WGMMA
#undef AUTOKERNEL_WGMMA_OF
// clang-format on

}  // namespace autokernel::ptx
