// wgmma: one warpgroup multiplies a 64xK block of A by a KxN block of B, both in shared memory, into fp32 registers. K takes
// 32 bytes: 16 elements of 16 bits, 32 of 8.
//
// Of columns 8j .. 8j + 7, thread t of the warpgroup holds d[4j], d[4j + 1]: row 16 * (t / 32) + t % 32 / 4, columns
// 8j + 2 * (t % 4) + {0, 1}; and d[4j + 2], d[4j + 3]: the same columns 8 rows below (PTX ISA, "Register Fragments
// for wgmma.mma_async.m64nNk16").
#pragma once

#include "../types.cuh"

namespace autokernel::ptx {

// Orders register and shared-memory accesses before the warpgroup's next wgmma.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes the group of the wgmmas since the last commit; they run on while this warpgroup does something else.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `kPending` of the newest committed groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Tells the compiler that `d` changes here: no read of an accumulator may move above the wait before it.
template <int kRegisters>
__device__ __forceinline__ void pin_accumulators(float (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    asm volatile("" : "+f"(d[i])::"memory");
  }
}

// Tells the compiler that what `d` holds is of no use: it need not be kept for a wgmma that overwrites it.
template <int kRegisters>
__device__ __forceinline__ void forget_accumulators(float (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "=f"(d[i]));
}

// d = a * b + (accumulate ? d : 0). `a` and `b` are matrix descriptors (sm90_shared.cuh); each operand is K-major, or
// MN-major when `kAMajorM`, `kBMajorN` (16-bit elements alone allow that). N is a multiple of 8 in 8..256. Sums of 8-bit
// elements are kept with fewer digits than fp32 has.
template <typename Input, bool kAMajorM, bool kBMajorN, int N>
struct Wgmma;

// The operand list of m64nN grows by 4 registers for each 8 columns: J names the lists of N = 8 * J. PTX wants every
// register by name and has no arrays of operands, so the lists are macros; each is the one before and four more.
// clang-format off
#define AUTOKERNEL_D_TEXT_1 "%0, %1, %2, %3"
#define AUTOKERNEL_D_TEXT_2 AUTOKERNEL_D_TEXT_1 ", %4, %5, %6, %7"
#define AUTOKERNEL_D_TEXT_3 AUTOKERNEL_D_TEXT_2 ", %8, %9, %10, %11"
#define AUTOKERNEL_D_TEXT_4 AUTOKERNEL_D_TEXT_3 ", %12, %13, %14, %15"
#define AUTOKERNEL_D_TEXT_5 AUTOKERNEL_D_TEXT_4 ", %16, %17, %18, %19"
#define AUTOKERNEL_D_TEXT_6 AUTOKERNEL_D_TEXT_5 ", %20, %21, %22, %23"
#define AUTOKERNEL_D_TEXT_7 AUTOKERNEL_D_TEXT_6 ", %24, %25, %26, %27"
#define AUTOKERNEL_D_TEXT_8 AUTOKERNEL_D_TEXT_7 ", %28, %29, %30, %31"
#define AUTOKERNEL_D_TEXT_9 AUTOKERNEL_D_TEXT_8 ", %32, %33, %34, %35"
#define AUTOKERNEL_D_TEXT_10 AUTOKERNEL_D_TEXT_9 ", %36, %37, %38, %39"
#define AUTOKERNEL_D_TEXT_11 AUTOKERNEL_D_TEXT_10 ", %40, %41, %42, %43"
#define AUTOKERNEL_D_TEXT_12 AUTOKERNEL_D_TEXT_11 ", %44, %45, %46, %47"
#define AUTOKERNEL_D_TEXT_13 AUTOKERNEL_D_TEXT_12 ", %48, %49, %50, %51"
#define AUTOKERNEL_D_TEXT_14 AUTOKERNEL_D_TEXT_13 ", %52, %53, %54, %55"
#define AUTOKERNEL_D_TEXT_15 AUTOKERNEL_D_TEXT_14 ", %56, %57, %58, %59"
#define AUTOKERNEL_D_TEXT_16 AUTOKERNEL_D_TEXT_15 ", %60, %61, %62, %63"
#define AUTOKERNEL_D_TEXT_17 AUTOKERNEL_D_TEXT_16 ", %64, %65, %66, %67"
#define AUTOKERNEL_D_TEXT_18 AUTOKERNEL_D_TEXT_17 ", %68, %69, %70, %71"
#define AUTOKERNEL_D_TEXT_19 AUTOKERNEL_D_TEXT_18 ", %72, %73, %74, %75"
#define AUTOKERNEL_D_TEXT_20 AUTOKERNEL_D_TEXT_19 ", %76, %77, %78, %79"
#define AUTOKERNEL_D_TEXT_21 AUTOKERNEL_D_TEXT_20 ", %80, %81, %82, %83"
#define AUTOKERNEL_D_TEXT_22 AUTOKERNEL_D_TEXT_21 ", %84, %85, %86, %87"
#define AUTOKERNEL_D_TEXT_23 AUTOKERNEL_D_TEXT_22 ", %88, %89, %90, %91"
#define AUTOKERNEL_D_TEXT_24 AUTOKERNEL_D_TEXT_23 ", %92, %93, %94, %95"
#define AUTOKERNEL_D_TEXT_25 AUTOKERNEL_D_TEXT_24 ", %96, %97, %98, %99"
#define AUTOKERNEL_D_TEXT_26 AUTOKERNEL_D_TEXT_25 ", %100, %101, %102, %103"
#define AUTOKERNEL_D_TEXT_27 AUTOKERNEL_D_TEXT_26 ", %104, %105, %106, %107"
#define AUTOKERNEL_D_TEXT_28 AUTOKERNEL_D_TEXT_27 ", %108, %109, %110, %111"
#define AUTOKERNEL_D_TEXT_29 AUTOKERNEL_D_TEXT_28 ", %112, %113, %114, %115"
#define AUTOKERNEL_D_TEXT_30 AUTOKERNEL_D_TEXT_29 ", %116, %117, %118, %119"
#define AUTOKERNEL_D_TEXT_31 AUTOKERNEL_D_TEXT_30 ", %120, %121, %122, %123"
#define AUTOKERNEL_D_TEXT_32 AUTOKERNEL_D_TEXT_31 ", %124, %125, %126, %127"

#define AUTOKERNEL_D_QUAD(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define AUTOKERNEL_D_LIST_1 AUTOKERNEL_D_QUAD(0)
#define AUTOKERNEL_D_LIST_2 AUTOKERNEL_D_LIST_1, AUTOKERNEL_D_QUAD(4)
#define AUTOKERNEL_D_LIST_3 AUTOKERNEL_D_LIST_2, AUTOKERNEL_D_QUAD(8)
#define AUTOKERNEL_D_LIST_4 AUTOKERNEL_D_LIST_3, AUTOKERNEL_D_QUAD(12)
#define AUTOKERNEL_D_LIST_5 AUTOKERNEL_D_LIST_4, AUTOKERNEL_D_QUAD(16)
#define AUTOKERNEL_D_LIST_6 AUTOKERNEL_D_LIST_5, AUTOKERNEL_D_QUAD(20)
#define AUTOKERNEL_D_LIST_7 AUTOKERNEL_D_LIST_6, AUTOKERNEL_D_QUAD(24)
#define AUTOKERNEL_D_LIST_8 AUTOKERNEL_D_LIST_7, AUTOKERNEL_D_QUAD(28)
#define AUTOKERNEL_D_LIST_9 AUTOKERNEL_D_LIST_8, AUTOKERNEL_D_QUAD(32)
#define AUTOKERNEL_D_LIST_10 AUTOKERNEL_D_LIST_9, AUTOKERNEL_D_QUAD(36)
#define AUTOKERNEL_D_LIST_11 AUTOKERNEL_D_LIST_10, AUTOKERNEL_D_QUAD(40)
#define AUTOKERNEL_D_LIST_12 AUTOKERNEL_D_LIST_11, AUTOKERNEL_D_QUAD(44)
#define AUTOKERNEL_D_LIST_13 AUTOKERNEL_D_LIST_12, AUTOKERNEL_D_QUAD(48)
#define AUTOKERNEL_D_LIST_14 AUTOKERNEL_D_LIST_13, AUTOKERNEL_D_QUAD(52)
#define AUTOKERNEL_D_LIST_15 AUTOKERNEL_D_LIST_14, AUTOKERNEL_D_QUAD(56)
#define AUTOKERNEL_D_LIST_16 AUTOKERNEL_D_LIST_15, AUTOKERNEL_D_QUAD(60)
#define AUTOKERNEL_D_LIST_17 AUTOKERNEL_D_LIST_16, AUTOKERNEL_D_QUAD(64)
#define AUTOKERNEL_D_LIST_18 AUTOKERNEL_D_LIST_17, AUTOKERNEL_D_QUAD(68)
#define AUTOKERNEL_D_LIST_19 AUTOKERNEL_D_LIST_18, AUTOKERNEL_D_QUAD(72)
#define AUTOKERNEL_D_LIST_20 AUTOKERNEL_D_LIST_19, AUTOKERNEL_D_QUAD(76)
#define AUTOKERNEL_D_LIST_21 AUTOKERNEL_D_LIST_20, AUTOKERNEL_D_QUAD(80)
#define AUTOKERNEL_D_LIST_22 AUTOKERNEL_D_LIST_21, AUTOKERNEL_D_QUAD(84)
#define AUTOKERNEL_D_LIST_23 AUTOKERNEL_D_LIST_22, AUTOKERNEL_D_QUAD(88)
#define AUTOKERNEL_D_LIST_24 AUTOKERNEL_D_LIST_23, AUTOKERNEL_D_QUAD(92)
#define AUTOKERNEL_D_LIST_25 AUTOKERNEL_D_LIST_24, AUTOKERNEL_D_QUAD(96)
#define AUTOKERNEL_D_LIST_26 AUTOKERNEL_D_LIST_25, AUTOKERNEL_D_QUAD(100)
#define AUTOKERNEL_D_LIST_27 AUTOKERNEL_D_LIST_26, AUTOKERNEL_D_QUAD(104)
#define AUTOKERNEL_D_LIST_28 AUTOKERNEL_D_LIST_27, AUTOKERNEL_D_QUAD(108)
#define AUTOKERNEL_D_LIST_29 AUTOKERNEL_D_LIST_28, AUTOKERNEL_D_QUAD(112)
#define AUTOKERNEL_D_LIST_30 AUTOKERNEL_D_LIST_29, AUTOKERNEL_D_QUAD(116)
#define AUTOKERNEL_D_LIST_31 AUTOKERNEL_D_LIST_30, AUTOKERNEL_D_QUAD(120)
#define AUTOKERNEL_D_LIST_32 AUTOKERNEL_D_LIST_31, AUTOKERNEL_D_QUAD(124)

// A, B, FLAG, MAJOR_A, MAJOR_B: the numbers of the operands that follow the 4 * J accumulators. The "1, 1" are the
// signs of A and B. The accumulate flag is a run-time predicate in PTX, but a constant wherever the loops are unrolled.
// TAIL, and what follows it: what 16-bit elements have beside, the order of each operand.
#define AUTOKERNEL_WGMMA_ASM(TYPES, N, J, A, B, FLAG, TAIL, ...)                                       \
  asm volatile(                                                                                        \
      "{\n"                                                                                            \
      ".reg .pred accumulate;\n"                                                                       \
      "setp.ne.b32 accumulate, %" #FLAG ", 0;\n"                                                       \
      "wgmma.mma_async.sync.aligned.m64n" #N TYPES                                                     \
      " {" AUTOKERNEL_D_TEXT_##J "}, %" #A ", %" #B ", accumulate, 1, 1" TAIL ";\n"                    \
      "}"                                                                                              \
      : AUTOKERNEL_D_LIST_##J                                                                          \
      : "l"(a), "l"(b), "r"(int(accumulate)) __VA_ARGS__)

#define AUTOKERNEL_WGMMA_16(TYPE, N, J, A, B, FLAG, MAJOR_A, MAJOR_B)                                  \
  AUTOKERNEL_WGMMA_ASM("k16.f32." TYPE "." TYPE, N, J, A, B, FLAG, ", %" #MAJOR_A ", %" #MAJOR_B,      \
                       , "n"(int(kAMajorM)), "n"(int(kBMajorN)))

#define AUTOKERNEL_WGMMA_8(TYPE, N, J, A, B, FLAG) \
  AUTOKERNEL_WGMMA_ASM("k32.f32." TYPE "." TYPE, N, J, A, B, FLAG, "", )

#define AUTOKERNEL_WGMMA(N, J, A, B, FLAG, MAJOR_A, MAJOR_B)                                           \
  template <typename Input, bool kAMajorM, bool kBMajorN>                                              \
  struct Wgmma<Input, kAMajorM, kBMajorN, N> {                                                         \
    static_assert(sizeof(Input) == 2 || !(kAMajorM || kBMajorN), "8-bit operands are K-major");        \
    __device__ __forceinline__ static void run(float (&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) { \
      constexpr Dtype kType = DtypeOf<Input>::value;                                                   \
      if constexpr (kType == Dtype::kBf16) {                                                           \
        AUTOKERNEL_WGMMA_16("bf16", N, J, A, B, FLAG, MAJOR_A, MAJOR_B);                               \
      } else if constexpr (kType == Dtype::kF16) {                                                     \
        AUTOKERNEL_WGMMA_16("f16", N, J, A, B, FLAG, MAJOR_A, MAJOR_B);                                \
      } else if constexpr (kType == Dtype::kE4m3) {                                                    \
        AUTOKERNEL_WGMMA_8("e4m3", N, J, A, B, FLAG);                                                  \
      } else {                                                                                         \
        static_assert(kType == Dtype::kE5m2, "a type that wgmma multiplies");                          \
        AUTOKERNEL_WGMMA_8("e5m2", N, J, A, B, FLAG);                                                  \
      }                                                                                                \
    }                                                                                                  \
  };

AUTOKERNEL_WGMMA(8, 1, 4, 5, 6, 7, 8)
AUTOKERNEL_WGMMA(16, 2, 8, 9, 10, 11, 12)
AUTOKERNEL_WGMMA(24, 3, 12, 13, 14, 15, 16)
AUTOKERNEL_WGMMA(32, 4, 16, 17, 18, 19, 20)
AUTOKERNEL_WGMMA(40, 5, 20, 21, 22, 23, 24)
AUTOKERNEL_WGMMA(48, 6, 24, 25, 26, 27, 28)
AUTOKERNEL_WGMMA(56, 7, 28, 29, 30, 31, 32)
AUTOKERNEL_WGMMA(64, 8, 32, 33, 34, 35, 36)
AUTOKERNEL_WGMMA(72, 9, 36, 37, 38, 39, 40)
AUTOKERNEL_WGMMA(80, 10, 40, 41, 42, 43, 44)
AUTOKERNEL_WGMMA(88, 11, 44, 45, 46, 47, 48)
AUTOKERNEL_WGMMA(96, 12, 48, 49, 50, 51, 52)
AUTOKERNEL_WGMMA(104, 13, 52, 53, 54, 55, 56)
AUTOKERNEL_WGMMA(112, 14, 56, 57, 58, 59, 60)
AUTOKERNEL_WGMMA(120, 15, 60, 61, 62, 63, 64)
AUTOKERNEL_WGMMA(128, 16, 64, 65, 66, 67, 68)
AUTOKERNEL_WGMMA(136, 17, 68, 69, 70, 71, 72)
AUTOKERNEL_WGMMA(144, 18, 72, 73, 74, 75, 76)
AUTOKERNEL_WGMMA(152, 19, 76, 77, 78, 79, 80)
AUTOKERNEL_WGMMA(160, 20, 80, 81, 82, 83, 84)
AUTOKERNEL_WGMMA(168, 21, 84, 85, 86, 87, 88)
AUTOKERNEL_WGMMA(176, 22, 88, 89, 90, 91, 92)
AUTOKERNEL_WGMMA(184, 23, 92, 93, 94, 95, 96)
AUTOKERNEL_WGMMA(192, 24, 96, 97, 98, 99, 100)
AUTOKERNEL_WGMMA(200, 25, 100, 101, 102, 103, 104)
AUTOKERNEL_WGMMA(208, 26, 104, 105, 106, 107, 108)
AUTOKERNEL_WGMMA(216, 27, 108, 109, 110, 111, 112)
AUTOKERNEL_WGMMA(224, 28, 112, 113, 114, 115, 116)
AUTOKERNEL_WGMMA(232, 29, 116, 117, 118, 119, 120)
AUTOKERNEL_WGMMA(240, 30, 120, 121, 122, 123, 124)
AUTOKERNEL_WGMMA(248, 31, 124, 125, 126, 127, 128)
AUTOKERNEL_WGMMA(256, 32, 128, 129, 130, 131, 132)

#undef AUTOKERNEL_WGMMA
#undef AUTOKERNEL_WGMMA_8
#undef AUTOKERNEL_WGMMA_16
#undef AUTOKERNEL_WGMMA_ASM
// clang-format on

}  // namespace autokernel::ptx
