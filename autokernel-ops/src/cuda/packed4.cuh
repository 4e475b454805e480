// Whole numbers of 4 bits, two a byte, as a second factor holds them along K.
//
// 32 numbers take 16 bytes. Of these number k is the upper half of a pair where k is odd; the 32-bit word (k % 8) / 2 has the pairs
// that one lane of wgmma multiplies, number k / 8 of them in bits 4 (k / 8) .. + 3 and, the odd ones, 16 bits above.
#pragma once

#include <stdint.h>

namespace autokernel {

struct i4x2 {
  uint8_t bits;
};

constexpr int kPacked4Numbers = 32;  // of a unit
constexpr int kPacked4Bytes = 16;

// Number `k` of a row that begins at `row`, of -8 .. 7.
__device__ __forceinline__ float number_at(const i4x2* row, int64_t k) {
  const int within = static_cast<int>(k % kPacked4Numbers);
  const int bit = within % 8 / 2 * 32 + within / 8 * 4 + within % 2 * 16;
  const uint8_t byte = row[k / kPacked4Numbers * kPacked4Bytes + bit / 8].bits;
  return static_cast<float>(((byte >> (bit % 8) & 0xf) ^ 8) - 8);
}

}  // namespace autokernel
