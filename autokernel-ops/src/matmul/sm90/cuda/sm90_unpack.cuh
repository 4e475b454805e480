// Whole numbers of 8 and of 4 bits to the pairs of 16-bit floats that tensor cores take as A from registers: by their bits, exactly, and
// without a conversion instruction. A float of 16 bits whose last place is worth 1 has the number in its fraction; subtracting what it
// stands above leaves the number.
#pragma once

#include "int8.cuh"
#include "packed4.cuh"
#include "types.cuh"

namespace autokernel::ptx {

// Bytes of `a`, and zeros, by four selectors: 0 to 3 a byte of `a`, 4 zero.
template <uint32_t kSelectors>
__device__ __forceinline__ uint32_t select_bytes(uint32_t a) {
  uint32_t selected;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(selected) : "r"(a), "n"(kSelectors));
  return selected;
}

// (a & mask) | to and (a & mask) ^ to as one instruction, which the compiler makes two of, as only one of both constants fits into it.
__device__ __forceinline__ uint32_t and_or(uint32_t a, uint32_t mask, uint32_t to) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(mask), "r"(to));
  return result;
}

__device__ __forceinline__ uint32_t and_xor(uint32_t a, uint32_t mask, uint32_t to) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(a), "r"(mask), "r"(to));
  return result;
}

// Differences of two pairs.
template <typename T>
__device__ __forceinline__ uint32_t subtract_pairs(uint32_t a, uint32_t b);

template <>
__device__ __forceinline__ uint32_t subtract_pairs<bf16>(uint32_t a, uint32_t b) {
  uint32_t difference;
  asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

template <>
__device__ __forceinline__ uint32_t subtract_pairs<f16>(uint32_t a, uint32_t b) {
  uint32_t difference;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

}  // namespace autokernel::ptx

namespace autokernel::sm90 {

constexpr uint32_t kEachHalf = 0x00010001;  // times a half: that half twice

enum class Half { kLower, kUpper };

// What floats stand above that have a number of 8 bits in their fraction, its sign bit turned round: of f16 1024 + 128.
constexpr uint32_t kBase8OfF16 = 0x6480 * kEachHalf;

// The two numbers of 8 bits in that half of `bytes`; of f16 less what makes `base` of the one that they stand above.
template <typename T, Half kHalf = Half::kLower>
__device__ __forceinline__ uint32_t unpack8(uint32_t bytes, uint32_t base = kBase8OfF16) {
  const uint32_t halves = ptx::select_bytes<kHalf == Half::kLower ? 0x4140 : 0x4342>(bytes);
  if constexpr (DtypeOf<T>::value == Dtype::kBf16) {
    // 7 bits of fraction: 128 + the lower seven bits, less 128 or, of a negative number, 256.
    constexpr uint32_t k128 = 0x4300 * kEachHalf;
    return ptx::subtract_pairs<bf16>(ptx::and_or(halves, 0x7f * kEachHalf, k128), ptx::and_or(halves, 0x80 * kEachHalf, k128));
  } else {
    // 10 bits of fraction: 1024 + 128 + the number, as its sign bit is turned round.
    return ptx::subtract_pairs<f16>(halves ^ kBase8OfF16, base);
  }
}

// The same of 4 bits: 128 or 1024, and 8.
template <typename T>
constexpr uint32_t kBase4 = (DtypeOf<T>::value == Dtype::kBf16 ? 0x4308 : 0x6408) * kEachHalf;

// The two numbers of 4 bits at the lower end of each half of `nibbles`, less what makes `base` of the one that they stand above.
template <typename T>
__device__ __forceinline__ uint32_t unpack4(uint32_t nibbles, uint32_t base = kBase4<T>) {
  return ptx::subtract_pairs<T>(ptx::and_xor(nibbles, 0xf * kEachHalf, kBase4<T>), base);
}

}  // namespace autokernel::sm90
