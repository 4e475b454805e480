// wgmma of fp32 as tf32: one warpgroup multiplies a 64x8 block of A by an 8xN block of B, both in shared memory and K-major, into
// fp32 registers. Of each factor the sign, the exponent and the upper 10 bits of the fraction count: the lower 13 are ignored, which
// rounds towards zero. A thread holds what it holds of other sums (sm90_wgmma.cuh). N is a multiple of 8 in 8..256.
#pragma once

#include "sm90_wgmma.cuh"
#include "sm90_wgmma_widths.cuh"

namespace autokernel::ptx {

// clang-format off
// A, B, FLAG: the numbers of the operands that follow the 4 * J accumulators. "1, 1" are the signs of A and B.
#define AUTOKERNEL_WGMMA(N, J, A, B, FLAG)                                                             \
  template <bool kAMajorM, bool kBMajorN>                                                              \
  struct Wgmma<f32, kAMajorM, kBMajorN, N> {                                                           \
    static_assert(!kAMajorM && !kBMajorN, "tf32 operands are K-major");                                \
    __device__ __forceinline__ static void run(float (&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) { \
      asm volatile(                                                                                    \
          "{\n"                                                                                        \
          ".reg .pred accumulate;\n"                                                                   \
          "setp.ne.b32 accumulate, %" #FLAG ", 0;\n"                                                   \
          "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32"                                    \
          " {" AUTOKERNEL_D_TEXT_##J "}, %" #A ", %" #B ", accumulate, 1, 1;\n"                        \
          "}"                                                                                          \
          : AUTOKERNEL_D_LIST_##J                                                                      \
          : "l"(a), "l"(b), "r"(int(accumulate)));                                                     \
    }                                                                                                  \
  };

AUTOKERNEL_FOR_WGMMA_WIDTHS(AUTOKERNEL_WGMMA)

#undef AUTOKERNEL_WGMMA
// clang-format on

}  // namespace autokernel::ptx
