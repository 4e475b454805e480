// PTX that every kernel family shares: addresses, conversions, and what the compiler is told with empty PTX.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// A pointer into shared memory as the 32-bit `.shared` address that the wrappers of this folder take.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Two fp32 to two packed 16-bit numbers, rounded to nearest even; `low` lands in the low half.
__device__ __forceinline__ uint32_t pack_bf16x2(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));  // PTX names the high half first
  return packed;
}

__device__ __forceinline__ uint32_t pack_f16x2(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ float f16_to_f32(uint16_t bits) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
  return wide;
}

// Makes `value` opaque: what the compiler derives from it is computed here, not kept in registers from before.
__device__ __forceinline__ void hide_from_compiler(uint32_t& value) { asm volatile("" : "+r"(value)); }

}  // namespace autokernel::ptx
