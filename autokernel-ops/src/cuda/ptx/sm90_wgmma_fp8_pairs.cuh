// wgmma of e4m3 and e5m2: as of either alone (sm90_wgmma.cuh), whose lists of registers these use.
#pragma once

#include "../fp8_pairs.cuh"
#include "sm90_wgmma.cuh"
#include "sm90_wgmma_widths.cuh"

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

AUTOKERNEL_FOR_WGMMA_WIDTHS(AUTOKERNEL_WGMMA)

#undef AUTOKERNEL_WGMMA
#undef AUTOKERNEL_WGMMA_OF
// clang-format on

}  // namespace autokernel::ptx
