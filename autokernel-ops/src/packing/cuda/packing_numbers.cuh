// The numbers that stand for the weights of a group: what the host's `quantise`, `quantise_i8` and `quantise_with_zeros` make, bit for
// bit. So a quotient is rounded to the nearest as the host's is, and no product of a reciprocal stands in for it.
#pragma once

#include "int8.cuh"
#include "packed4.cuh"
#include "types.cuh"

namespace autokernel::packing {

__device__ __forceinline__ float to_f32(bf16 weight) { return __uint_as_float(uint32_t(weight.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 weight) { return ptx::f16_to_f32(weight.bits); }
__device__ __forceinline__ float to_f32(f32 weight) { return weight; }

__device__ __forceinline__ float quotient_of(float x, float y) {
  float quotient;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(quotient) : "f"(x), "f"(y));
  return quotient;
}

// To the nearest whole number, of ties to the even one.
__device__ __forceinline__ float whole(float x) {
  float rounded;
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(rounded) : "f"(x));
  return rounded;
}

// What numbers reach to, and whether two stand in a byte. Those of 8 bits are symmetric, so that none is -128.
template <typename Packed>
struct Reach;
template <>
struct Reach<i8> {
  static constexpr bool kTwoInAByte = false;
  static constexpr float kLeast = -127.0f, kMost = 127.0f;
};
template <>
struct Reach<i4x2> {
  static constexpr bool kTwoInAByte = true;
  static constexpr float kLeast = -8.0f, kMost = 7.0f;
};

// The least and the largest weight of a group, and 0. What is no number is neither.
struct Ends {
  float least = 0.0f, largest = 0.0f;

  __device__ __forceinline__ void take(float weight) {
    least = fminf(least, weight);
    largest = fmaxf(largest, weight);
  }
};

// A group's scale and its zero point, the number that stands for 0.
template <typename Packed, bool kHasZero>
struct Grid {
  static constexpr float kLeast = Reach<Packed>::kLeast, kMost = Reach<Packed>::kMost;
  static constexpr float kLargest = 0x1.fffffep127f;  // that is finite

  float scale;
  float zero = 0.0f;

  __device__ __forceinline__ explicit Grid(Ends ends) {
    if constexpr (kHasZero) {
      // Before they are subtracted: both may be as large as a number can be.
      constexpr float kSteps = kMost - kLeast;
      scale = fabsf(quotient_of(ends.largest, kSteps) - quotient_of(ends.least, kSteps));
      if (scale != 0.0f && scale <= kLargest) {
        zero = fminf(fmaxf(whole(kLeast - quotient_of(ends.least, scale)), kLeast), kMost);
      }
    } else {
      scale = fabsf(quotient_of(fmaxf(ends.largest, -ends.least), kMost));
    }
  }

  // A scale of 0 leaves no other than the zero point, and of what is no number it is that too.
  __device__ __forceinline__ int number(float weight) const {
    const float quotient = quotient_of(weight, scale);
    const float steps = scale == 0.0f || quotient != quotient ? 0.0f : whole(quotient);
    return static_cast<int>(fminf(fmaxf(steps + zero, kLeast), kMost));
  }
};

}  // namespace autokernel::packing
