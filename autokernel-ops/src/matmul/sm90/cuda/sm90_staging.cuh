// Accumulators, epilogue applied and converted, to a warp's staging buffer, laid out as the copy engine expects it.
#pragma once

#include "ptx/shared_bytes.cuh"
#include "ptx/sm90.cuh"
#include "sm90_mainloop.cuh"

namespace autokernel::sm90 {

// Byte `offset` of a chunk as the copy engine expects it: address bits 7 and up, as many as the mask has, are xored
// into the index of the 16-byte unit. The mask is 7, 3, 1 or 0 for a row of 128, 64, 32 or 16 bytes. Buffers begin
// where this pattern does. It also spreads a column of 16-byte units over the banks.
template <int kRowBytes>
__device__ __forceinline__ uint32_t swizzled(uint32_t offset) {
  constexpr uint32_t kMask = kRowBytes / kTmaUnitBytes - 1;
  return offset ^ (((offset / kSwizzleBytes) & kMask) * kTmaUnitBytes);
}

// kStoreColumns columns of a wgmma block from kFirst on: 16 rows of the chunk.
template <typename Problem, typename G, int kFirst>
__device__ __forceinline__ void stage_rows(const float (&acc)[G::kWidth / 2], uint32_t buffer) {
  using Output = typename G::Output;
  const int lane = threadIdx.x % kWarpSize;
  const auto value = [&](int index) { return Problem::epilogue(acc[kFirst / 2 + index]); };

  if constexpr (sizeof(Output) == 2) {
    const auto packed = [&](int index) { return pack2<Output>(value(index), value(index + 1)); };
    // stmatrix: 8x8 blocks straight from the wgmma fragment; lanes address rows, then the next 8 columns.
    const uint32_t start = (lane % kWarpRows) * G::kStoreWidth + (lane / kWarpRows) * kTmaUnitBytes;
#pragma unroll
    for (int column = 0; column + 16 <= G::kStoreColumns; column += 16) {
      const int i = column / 2;
      ptx::stmatrix_x4(buffer + swizzled<G::kStoreWidth>(start + column * 2), packed(i), packed(i + 2),
                       packed(i + 4), packed(i + 6));
    }
    if constexpr (G::kStoreColumns == 8) {
      ptx::stmatrix_x2(buffer + (lane % kWarpRows) * G::kStoreWidth, packed(0), packed(2));
    }
  } else if constexpr (sizeof(Output) == 1) {
    // stmatrix moves two bytes as one element, whose neighbours another lane holds: each lane stores its pairs. Rows of 128 bytes
    // spread over all banks, so that this takes as many cycles as stmatrix does for as many elements of 16 bits.
    const auto packed = [&](int index) { return static_cast<uint16_t>(pack2<Output>(value(index), value(index + 1))); };
    const uint32_t start = lane / 4 * G::kStoreWidth + lane % 4 * 2;
#pragma unroll
    for (int column = 0; column < G::kStoreColumns; column += 8) {
      const int i = column / 2;
      const uint32_t upper = start + column;
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(upper), packed(i));
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(upper + 8 * G::kStoreWidth), packed(i + 2));
    }
  } else {
    // No stmatrix for 32-bit elements: each lane stores its pairs, of a row and of the one 8 below.
    const uint32_t start = (lane / 4) * G::kStoreWidth + (lane % 4) * static_cast<uint32_t>(sizeof(float2));
#pragma unroll
    for (int column = 0; column < G::kStoreColumns; column += 8) {
      const int i = column / 2;
      const uint32_t upper = start + column * 4;
      const uint32_t lower = upper + 8 * G::kStoreWidth;
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(upper), value(i), value(i + 1));
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(lower), value(i + 2), value(i + 3));
    }
  }
}

// Swapped: kStoreRows columns of a wgmma block from kFirst on are rows of the chunk, and its 16 rows the columns.
template <typename Problem, typename G, int kFirst>
__device__ __forceinline__ void stage_transposed(const float (&acc)[G::kWidth / 2], uint32_t buffer) {
  using Output = typename G::Output;
  const int lane = threadIdx.x % kWarpSize;
  const auto value = [&](int index) { return Problem::epilogue(acc[kFirst / 2 + index]); };

  if constexpr (sizeof(Output) == 2) {
    const auto packed = [&](int index) { return pack2<Output>(value(index), value(index + 1)); };
    // stmatrix transposes each 8x8 block on its way; lanes address 8 rows, their second 8 columns, then the next rows.
    const uint32_t start = (lane % 8 + lane / 16 * 8) * G::kStoreWidth + lane / 8 % 2 * kTmaUnitBytes;
#pragma unroll
    for (int row = 0; row + 16 <= G::kStoreRows; row += 16) {
      const int i = row / 2;
      ptx::stmatrix_x4_transposed(buffer + swizzled<G::kStoreWidth>(start + row * G::kStoreWidth), packed(i),
                                  packed(i + 2), packed(i + 4), packed(i + 6));
    }
    if constexpr (G::kStoreRows % 16 == 8) {
      constexpr int kLast = G::kStoreRows - 8;
      const uint32_t last = (lane % 8 + kLast) * G::kStoreWidth + lane / 8 % 2 * kTmaUnitBytes;
      ptx::stmatrix_x2_transposed(buffer + swizzled<G::kStoreWidth>(last), packed(kLast / 2), packed(kLast / 2 + 2));
    }
  } else if constexpr (sizeof(Output) == 1) {
    // A lane holds two neighbouring rows of two columns 8 apart. Rows of 16 bytes lie one after the other: the 32 bytes of a store are
    // halves of four rows.
    const uint32_t start = lane % 4 * 2 * G::kStoreWidth + lane / 4;
#pragma unroll
    for (int row = 0; row < G::kStoreRows; row += 8) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t at = start + (row + i % 2) * G::kStoreWidth + i / 2 * 8;
        ptx::store_shared(buffer + at, from_f32<Output>(value(row / 2 + i)).bits);
      }
    }
  } else {
    // A lane holds two neighbouring rows. Odd lanes begin with the second, so that a store meets every bank once.
    const bool odd = lane % 2 != 0;
    const uint32_t start = lane % 4 * 2 * G::kStoreWidth + lane / 4 * 4;
#pragma unroll
    for (int row = 0; row < G::kStoreRows; row += 8) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // columns of C 8 apart
        const int i = row / 2 + half * 2;
        const float even_row = value(i), odd_row = value(i + 1);
        const uint32_t even = start + row * G::kStoreWidth + half * 32;
        const uint32_t first = even + (odd ? G::kStoreWidth : 0);
        const uint32_t second = even + (odd ? 0 : G::kStoreWidth);
        ptx::store_shared(buffer + swizzled<G::kStoreWidth>(first), odd ? odd_row : even_row);
        ptx::store_shared(buffer + swizzled<G::kStoreWidth>(second), odd ? even_row : odd_row);
      }
    }
  }
}

}  // namespace autokernel::sm90
