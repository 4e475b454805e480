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

// The same without the special-function unit, which computes 16 a clock where 128 can be multiplied: to 2^-18 of it, with what is
// no number as zero. Its coefficients are the minimax ones of their degree with a constant of 1, which makes 2^-127 zero.
constexpr float kLeastExponent = -127.0f;
template <bool kIsCut = false>  // whether `x` is kLeastExponent at least, or no number
__device__ __forceinline__ float exp2_by_fma(float x) {
  constexpr float kToWhole = 0x1.8p23f;  // what is added to it has its whole part in the last bits
  if constexpr (!kIsCut) x = fmaxf(x, kLeastExponent);
  const float whole = x + kToWhole;
  const float rest = x - (whole - kToWhole);
  float power = 9.5828557e-3f;
  power = fmaf(power, rest, 5.5906430e-2f);
  power = fmaf(power, rest, 0.24024099f);
  power = fmaf(power, rest, 0.69312418f);
  power = fmaf(power, rest, 1.0f);
  return __uint_as_float((__float_as_uint(whole) << 23) + __float_as_uint(power));
}

// The greater; what is no number, where one is.
__device__ __forceinline__ float max_or_nan(float x, float y) {
  float greater;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(x), "f"(y));
  return greater;
}

}  // namespace autokernel::attention
