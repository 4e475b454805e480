// The functions an epilogue may call, one for each entry of the Rust whitelist in `expr/mod.rs`.
//
// Each takes and returns the fp32 accumulator. They follow their Rust counterparts on special values:
// `max` and `min` return the other operand when one is NaN.
#pragma once

namespace autokernel::math {

__device__ __forceinline__ float abs(float x) { return fabsf(x); }
__device__ __forceinline__ float max(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ float min(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float exp(float x) { return expf(x); }
__device__ __forceinline__ float ln(float x) { return logf(x); }
__device__ __forceinline__ float sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ float tanh(float x) { return tanhf(x); }
__device__ __forceinline__ float erf(float x) { return erff(x); }
__device__ __forceinline__ float sin(float x) { return sinf(x); }
__device__ __forceinline__ float cos(float x) { return cosf(x); }
__device__ __forceinline__ float recip(float x) { return 1.0f / x; }
__device__ __forceinline__ float mul_add(float x, float y, float z) { return fmaf(x, y, z); }

}  // namespace autokernel::math
