// Element types and the few host/device facts every kernel family shares.
//
// The kernels store elements of 8 and 16 bits as raw bits and convert with PTX, so that a kernel needs no CUDA header beyond
// nvcc's own: that keeps a build short and the toolkit small.
#pragma once

#include <stdint.h>

#include "ptx/common.cuh"

namespace autokernel {

struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};
using f32 = float;
struct e4m3 {
  uint8_t bits;
};
struct e5m2 {
  uint8_t bits;
};

enum class Dtype { kBf16, kF16, kF32, kE4m3, kE5m2 };

template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<bf16> {
  static constexpr Dtype value = Dtype::kBf16;
};
template <>
struct DtypeOf<f16> {
  static constexpr Dtype value = Dtype::kF16;
};
template <>
struct DtypeOf<f32> {
  static constexpr Dtype value = Dtype::kF32;
};
template <>
struct DtypeOf<e4m3> {
  static constexpr Dtype value = Dtype::kE4m3;
};
template <>
struct DtypeOf<e5m2> {
  static constexpr Dtype value = Dtype::kE5m2;
};

// The bits of an element of so many bytes.
template <int kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = uint32_t;
};

constexpr int kWarpSize = 32;
constexpr int kWarpsPerWarpgroup = 4;
constexpr int kWarpgroupSize = kWarpSize * kWarpsPerWarpgroup;

template <typename T>
__host__ __device__ constexpr T ceil_div(T numerator, T denominator) {
  return (numerator + denominator - 1) / denominator;
}

// Two accumulators to two packed 16-bit outputs; `low` lands at the lower address. Round to nearest even.
template <typename T>
__device__ __forceinline__ uint32_t pack2(float low, float high);

template <>
__device__ __forceinline__ uint32_t pack2<bf16>(float low, float high) {
  return ptx::pack_bf16x2(low, high);
}

template <>
__device__ __forceinline__ uint32_t pack2<f16>(float low, float high) {
  return ptx::pack_f16x2(low, high);
}

// One accumulator to one output element.
template <typename T>
__device__ __forceinline__ T from_f32(float value);

template <>
__device__ __forceinline__ bf16 from_f32<bf16>(float value) {
  return bf16{static_cast<uint16_t>(pack2<bf16>(value, 0.0f))};
}

template <>
__device__ __forceinline__ f16 from_f32<f16>(float value) {
  return f16{static_cast<uint16_t>(pack2<f16>(value, 0.0f))};
}

template <>
__device__ __forceinline__ f32 from_f32<f32>(float value) {
  return value;
}

}  // namespace autokernel
