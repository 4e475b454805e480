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

// The same of a divisor that is zero, infinite, no number or normal with a normal reciprocal: one multiplication.
struct NearDivisor {
  float reciprocal;

  NearDivisor() = default;
  __device__ __forceinline__ explicit NearDivisor(float divisor) {
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(divisor));
  }
};

__device__ __forceinline__ float quotient(float x, const NearDivisor& divisor) { return x * divisor.reciprocal; }

// 1 + tanh(x), as 2 / (1 + exp(-2 x)): to a few units in the last place and two for each unit of |x|, where the sum would
// cancel too.
__device__ __forceinline__ float one_plus_tanh(float x) {
  constexpr float kMinus2Log2E = -2.88539008f;
  float half;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(half) : "f"(1.0f + exp2(x * kMinus2Log2E)));
  return 2.0f * half;
}

// 1 - erf(x) of x >= 0: 2 to a polynomial that is within 2^-17 of log2(1 - erf(x)) up to 4, where the result is 1.5e-8, and
// falls beyond it. Its coefficients are the minimax ones of its degree without a constant.
__device__ __forceinline__ float erfc(float x) {
  float p = -1.9977375e-5f;
  p = fmaf(p, x, 4.8202390e-4f);
  p = fmaf(p, x, -5.2049691e-3f);
  p = fmaf(p, x, 3.3869080e-2f);
  p = fmaf(p, x, -0.15238497f);
  p = fmaf(p, x, -0.91710329f);
  p = fmaf(p, x, -1.62805986f);
  return exp2(p * x);
}

// 1 + erf(x), to 2^-17 of it down to x = -4: there too where the sum would cancel.
__device__ __forceinline__ float one_plus_erf(float x) {
  const float rest = erfc(fabsf(x));
  return x < 0.0f ? rest : 2.0f - rest;
}

}  // namespace autokernel::fast_math
