// Functions for results of 16 bits, and quotients without a slow path. All is straight code: the branches of exact
// functions keep the elements of a thread apart, and both of their sides hold registers.
#pragma once

namespace autokernel::fast_math {

// 2^x: two units in the last place; denormals are zero.
__device__ __forceinline__ float exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// One more unit for each unit of |x|, by which its multiple is rounded.
__device__ __forceinline__ float exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  return exp2(x * kLog2E);
}

// To 2^-11 of its value.
__device__ __forceinline__ float tanh(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Within two units in the last place, over the whole range.
__device__ __forceinline__ float quotient(float x, float y) {
  float result;
  asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}

// Within two units in the last place, over the whole range.
__device__ __forceinline__ float sqrt(float x) {
  float result;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// A number that many are divided by: two multiplications, within two units in the last place of the quotient. A divisor
// whose reciprocal would leave the normal range is scaled into it first, by a power of two.
struct Divisor {
  float reciprocal;
  float scale;

  Divisor() = default;
  __device__ __forceinline__ explicit Divisor(float divisor) {
    scale = fabsf(divisor) < 0x1p-64f ? 0x1p64f : fabsf(divisor) > 0x1p64f ? 0x1p-64f : 1.0f;
    asm("rcp.approx.f32 %0, %1;" : "=f"(reciprocal) : "f"(divisor * scale));
  }
};

__device__ __forceinline__ float quotient(float x, const Divisor& divisor) { return x * divisor.reciprocal * divisor.scale; }

// 1 / x of an x that is zero, infinite, no number or normal with a normal reciprocal: one unit in the last place. Beyond 2^126 it is zero.
__device__ __forceinline__ float near_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// The same as Divisor of such a divisor: one multiplication.
struct NearDivisor {
  float reciprocal;

  NearDivisor() = default;
  __device__ __forceinline__ explicit NearDivisor(float divisor) : reciprocal(near_reciprocal(divisor)) {}
};

__device__ __forceinline__ float quotient(float x, const NearDivisor& divisor) { return x * divisor.reciprocal; }

// of / (1 + exp(x)): a few units in the last place and one for each unit of |x|. Beyond x = 87 it is zero.
__device__ __forceinline__ float over_one_plus_exp(float of, float x) { return of * near_reciprocal(1.0f + exp(x)); }

// What follows computes a function at a multiple of `x`, which is a constant and costs nothing.

// Half of 1 + tanh(scale * x), as 1 / (1 + exp(-2 scale * x)): to a few units in the last place and two for each unit of |scale * x|,
// where the sum would cancel too.
__device__ __forceinline__ float half_one_plus_tanh(float x, float scale = 1.0f) {
  constexpr float kMinus2Log2E = -2.88539008f;
  return near_reciprocal(1.0f + exp2(x * (scale * kMinus2Log2E)));
}

__device__ __forceinline__ float one_plus_tanh(float x, float scale = 1.0f) { return 2.0f * half_one_plus_tanh(x, scale); }

// 1 - erf(scale * x) of scale * x >= 0, times 2^kExponent: 2 to a polynomial that is within 2^-17 of log2(1 - erf(x)) up to 4, where the
// result is 1.5e-8, and falls beyond it. Its coefficients are the minimax ones of its degree without a constant.
template <int kExponent>
__device__ __forceinline__ float erfc(float x, float scale) {
  constexpr float kCoefficients[] = {-1.62805986f,   -0.91710329f,    -0.15238497f,  3.3869080e-2f,
                                     -5.2049691e-3f, 4.8202390e-4f, -1.9977375e-5f};
  constexpr int kDegree = sizeof(kCoefficients) / sizeof(float);
  float powers[kDegree];  // of the scale
#pragma unroll
  for (int i = 0; i < kDegree; ++i) powers[i] = i == 0 ? scale : powers[i - 1] * scale;
  float p = kCoefficients[kDegree - 1] * powers[kDegree - 1];
#pragma unroll
  for (int i = kDegree - 2; i >= 0; --i) p = fmaf(p, x, kCoefficients[i] * powers[i]);
  return exp2(fmaf(p, x, static_cast<float>(kExponent)));
}

// 1 + erf(scale * x) times 2^kExponent, to 2^-17 of it down to scale * x = -4: there too where the sum would cancel.
template <int kExponent>
__device__ __forceinline__ float one_plus_erf_times(float x, float scale) {
  constexpr float kTwo = kExponent == 0 ? 2.0f : 1.0f;
  const float rest = erfc<kExponent>(fabsf(x), fabsf(scale));
  return (scale < 0.0f ? x > 0.0f : x < 0.0f) ? rest : kTwo - rest;
}

__device__ __forceinline__ float one_plus_erf(float x, float scale = 1.0f) { return one_plus_erf_times<0>(x, scale); }
__device__ __forceinline__ float half_one_plus_erf(float x, float scale = 1.0f) { return one_plus_erf_times<-1>(x, scale); }

}  // namespace autokernel::fast_math
