// fp32 to floats of 8 bits: to the nearest, ties to even; what is beyond the largest becomes the largest, of infinities too. NaN stays
// NaN: on a GPU, in both formats, the one of sign 0 whose other bits are all set. The CPU (crate float8) keeps the sign, and makes
// 0x7e | mantissa of it in e5m2.
#pragma once

#include "types.cuh"

namespace autokernel {

namespace fp8 {

template <typename T>
struct Format;
template <>
struct Format<e4m3> {
  static constexpr int kDigits = 3, kBias = 7;
  static constexpr float kLargest = 448.0f;
};
template <>
struct Format<e5m2> {
  static constexpr int kDigits = 2, kBias = 15;
  static constexpr float kLargest = 57344.0f;
};

// By its bits, for GPUs that have no instruction for it.
template <typename T>
__device__ __forceinline__ uint32_t narrow(float value) {
  using F = Format<T>;
  constexpr int kDropped = 23 - F::kDigits;
  constexpr uint32_t kLeastNormal = 128 - F::kBias << 23;
  const uint32_t sign = __float_as_uint(value) >> 31 << 7;
  if (value != value) return 0x7f;
  const float size = fminf(fabsf(value), F::kLargest);
  uint32_t bits = __float_as_uint(size);
  if (bits < kLeastNormal) {
    // Added to a number whose last digit is worth as much as that of the least ones, it is rounded by the hardware.
    constexpr float kOfLeast = 1 << kDropped + 1 - F::kBias;
    return sign | __float_as_uint(size + kOfLeast) - __float_as_uint(kOfLeast);
  }
  bits += (1u << kDropped - 1) - 1 + (bits >> kDropped & 1);
  return sign | (bits >> kDropped) - (127 - F::kBias << F::kDigits);
}

}  // namespace fp8

// Two to the lower half of a word; `low` lands at the lower address.
template <>
__device__ __forceinline__ uint32_t pack2<e4m3>(float low, float high) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return fp8::narrow<e4m3>(high) << 8 | fp8::narrow<e4m3>(low);
#endif
}

template <>
__device__ __forceinline__ uint32_t pack2<e5m2>(float low, float high) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return fp8::narrow<e5m2>(high) << 8 | fp8::narrow<e5m2>(low);
#endif
}

template <>
__device__ __forceinline__ e4m3 from_f32<e4m3>(float value) {
  return e4m3{static_cast<uint8_t>(pack2<e4m3>(value, 0.0f))};
}

template <>
__device__ __forceinline__ e5m2 from_f32<e5m2>(float value) {
  return e5m2{static_cast<uint8_t>(pack2<e5m2>(value, 0.0f))};
}

}  // namespace autokernel
