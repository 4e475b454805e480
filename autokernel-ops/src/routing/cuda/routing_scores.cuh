// Scores as numbers that compare like them.
#pragma once

#include "types.cuh"

namespace autokernel::routing {

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }
__device__ __forceinline__ float to_f32(f32 value) { return value; }

// What is no longer there, and what is no number; every other score is greater.
constexpr uint32_t kTaken = 0;
constexpr uint32_t kNoNumber = 1;

// The greater the score, the greater the key. Both zeros have one.
__device__ __forceinline__ uint32_t key_of(float score) {
  const uint32_t bits = score == 0.0f ? 0 : __float_as_uint(score);
  if (score != score) return kNoNumber;
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float score_of(uint32_t key) {
  if (key == kNoNumber) return __int_as_float(0x7fc00000);
  return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

}  // namespace autokernel::routing
