// Whole numbers of 8 and of 4 bits to the pairs of 16-bit floats that tensor cores take as A from registers: by their bits, exactly, and
// without a conversion instruction.
//
// Of a float of 16 bits that is nothing but its lower 8 bits these count the smallest subnormal: bf16 has 7 bits of fraction, but the first
// numbers that are normal are as far apart as the subnormal ones. One fma by a power of two, the largest that the type has or a sixteenth of
// it where a number stands 4 bits higher, makes of it the number divided by kDivisor, less what it stands above. So of the 4 numbers of a
// half two can be used where they are, and the others after one shift.
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

// (a & mask) ^ to as one instruction, which the compiler makes two of, as only one of both constants fits into it.
__device__ __forceinline__ uint32_t and_xor(uint32_t a, uint32_t mask, uint32_t to) {
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(a), "r"(mask), "r"(to));
  return result;
}

// a * b + c of two pairs.
template <typename T>
__device__ __forceinline__ uint32_t fma_pairs(uint32_t a, uint32_t b, uint32_t c);

template <>
__device__ __forceinline__ uint32_t fma_pairs<bf16>(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}

template <>
__device__ __forceinline__ uint32_t fma_pairs<f16>(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}

}  // namespace autokernel::ptx

namespace autokernel {

constexpr uint32_t kEachHalf = 0x00010001;  // times a half: that half twice

enum class Half { kLower, kUpper };

template <typename T>
constexpr bool kIsBf16 = DtypeOf<T>::value == Dtype::kBf16;

// The largest power of two, twice: 2^127 of bf16, whose smallest number is 2^-133, and 2^15 of f16, whose smallest one is 2^-24.
template <typename T>
constexpr uint32_t kLargestPower = (kIsBf16<T> ? 0x7f00 : 0x7800) * kEachHalf;
template <typename T>
constexpr uint32_t kSixteenthOfIt = (kIsBf16<T> ? 0x7d00 : 0x6800) * kEachHalf;
constexpr uint32_t kSignOfEach = 0x8000 * kEachHalf;

// What unpacked numbers have been divided by.
template <typename T>
constexpr float kDivisor = kIsBf16<T> ? 64.0f : 512.0f;

// What numbers of two's complement stand above as their sign bits are turned round.
constexpr uint32_t kBase8 = 0x80;
constexpr uint32_t kBase4 = 0x8;

// What is added to what is unpacked of numbers that stand above `base`, of 0 .. 255.
template <typename T>
__device__ __forceinline__ uint32_t less(uint32_t base) {
  return ptx::fma_pairs<T>(base * kEachHalf, kLargestPower<T> | kSignOfEach, kSignOfEach);
}

// The same, known: -base / kDivisor.
template <typename T>
constexpr uint32_t kLess8 = (kIsBf16<T> ? 0xc000 : 0xb400) * kEachHalf;
template <typename T>
constexpr uint32_t kLess4 = (kIsBf16<T> ? 0xbe00 : 0xa400) * kEachHalf;

// Bytes as `unpack8` takes them.
__device__ __forceinline__ uint32_t without_signs(uint32_t bytes) { return bytes ^ kBase8 * 0x01010101; }

// The two numbers of 8 bits in that half of `bytes`, which have no signs.
template <typename T, Half kHalf = Half::kLower>
__device__ __forceinline__ uint32_t unpack8(uint32_t bytes, uint32_t added = kLess8<T>) {
  return ptx::fma_pairs<T>(ptx::select_bytes<kHalf == Half::kLower ? 0x4140 : 0x4342>(bytes), kLargestPower<T>, added);
}

// The two numbers of 4 bits at the lower end of each half of `nibbles`, or 4 bits above it.
template <typename T, bool kAbove>
__device__ __forceinline__ uint32_t unpack4(uint32_t nibbles, uint32_t added = kLess4<T>) {
  constexpr int kShift = kAbove ? 4 : 0;
  const uint32_t numbers = ptx::and_xor(nibbles, 0xf * kEachHalf << kShift, kBase4 * kEachHalf << kShift);
  return ptx::fma_pairs<T>(numbers, kAbove ? kSixteenthOfIt<T> : kLargestPower<T>, added);
}

}  // namespace autokernel
