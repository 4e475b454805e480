// The kernel that follows a GEMM where there is no fusion: LeakyReLU over its bf16 or fp16 output, in place.
//
// At the memory limit: 16 bytes a thread and step, both directions coalesced.
#include <stdint.h>

constexpr int kElementsPerVector = 8;  // 16 bytes of 16-bit elements

__device__ __forceinline__ float widen_bf16(uint16_t bits) { return __uint_as_float(uint32_t(bits) << 16); }

__device__ __forceinline__ float widen_f16(uint16_t bits) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
  return wide;
}

__device__ __forceinline__ uint32_t apply(uint32_t packed, float slope, bool is_bf16) {
  float low = is_bf16 ? widen_bf16(packed & 0xffff) : widen_f16(packed & 0xffff);
  float high = is_bf16 ? widen_bf16(packed >> 16) : widen_f16(packed >> 16);
  low = low < 0.0f ? low * slope : low;
  high = high < 0.0f ? high * slope : high;
  if (is_bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

// `values` is 16-byte aligned. Any grid of one-dimensional blocks is correct.
extern "C" __global__ void leaky_relu_in_place(uint16_t* values, uint64_t count, float slope, int is_bf16) {
  const uint64_t vectors = count / kElementsPerVector;
  const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t at = first; at < vectors; at += step) {
    uint4 vector = reinterpret_cast<uint4*>(values)[at];
    vector.x = apply(vector.x, slope, is_bf16);
    vector.y = apply(vector.y, slope, is_bf16);
    vector.z = apply(vector.z, slope, is_bf16);
    vector.w = apply(vector.w, slope, is_bf16);
    reinterpret_cast<uint4*>(values)[at] = vector;
  }
  for (uint64_t at = vectors * kElementsPerVector + first; at < count; at += step) {
    values[at] = uint16_t(apply(values[at], slope, is_bf16));
  }
}
