// fp32 to whole numbers of 8 bits: to the nearest, ties to even; what is beyond the last becomes the last, of infinities too. NaN becomes 0,
// as on the CPU.
#pragma once

#include "types.cuh"

namespace autokernel {

// A two's complement.
struct i8_bits {
  uint8_t bits;
};

// None of those that types.cuh names: all that is asked is whether it is one of them.
template <>
struct DtypeOf<i8_bits> {
  static constexpr Dtype value = static_cast<Dtype>(-1);
};

namespace int8 {

// In the lowest byte, and nothing beside it.
__device__ __forceinline__ uint32_t narrow(float value) {
  int whole;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(whole) : "f"(value));  // which saturates, and makes 0 of NaN
  return static_cast<uint32_t>(max(-128, min(whole, 127))) & 0xff;
}

}  // namespace int8

// Two to the lower half of a word; `low` lands at the lower address.
template <>
__device__ __forceinline__ uint32_t pack2<i8_bits>(float low, float high) {
  return int8::narrow(high) << 8 | int8::narrow(low);
}

template <>
__device__ __forceinline__ i8_bits from_f32<i8_bits>(float value) {
  return i8_bits{static_cast<uint8_t>(int8::narrow(value))};
}

}  // namespace autokernel
