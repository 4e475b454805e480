// PTX that every kernel family shares: addresses, conversions, launches that overlap, and what the compiler is told
// with empty PTX.
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
__device__ __forceinline__ void hide_from_compiler(int64_t& value) { asm volatile("" : "+l"(value)); }

// Programmatic dependent launch: waits until the grids that this one was launched behind have finished and their writes
// are visible. Returns at once in an ordinary launch, which is the only one before Hopper.
__device__ __forceinline__ void wait_for_previous_grids() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace autokernel::ptx
