// Weights of a softmax as powers of two.
#pragma once

namespace autokernel::attention {

constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2 = 0.693147180559945309f;
constexpr float kNegativeInfinity = -__builtin_huge_valf();

// 2^x within 2 units in the last place; results below the normal range are zero.
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace autokernel::attention
