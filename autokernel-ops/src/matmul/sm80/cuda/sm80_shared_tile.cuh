// Where the elements of a tile lie in shared memory, so that no access pattern of the kernel has bank conflicts.
//
// A tile is rows of 16-byte chunks. Shared memory serves 128 bytes (8 chunks, a "line" here) a cycle, so 8 lanes
// that each touch a chunk proceed together only if their chunks differ modulo 8. Both patterns must hold:
//   along a row   (asynchronous copies in, 16-byte reads out): 8 neighbouring chunks;
//   down a column (ldmatrix, accumulator writes): the same chunk of 8 neighbouring rows.
// Rows that follow each other without padding satisfy the first; exchanging chunks within each line by an XOR
// with the line's number satisfies the second too, and costs no memory.
#pragma once

#include "types.cuh"

namespace autokernel::sm80 {

constexpr int kChunkBytes = 16;
constexpr int kChunksPerLine = 8;

// kChunksPerWrite: chunks of one row that a group of lanes touches together when it walks down a column:
// 1 for ldmatrix and 16-bit accumulators, 2 for pairs of fp32 accumulators (8 bytes a lane, 4 lanes a row).
template <int kRows, int kRowBytes, int kChunksPerWrite = 1>
struct SharedTile {
  static constexpr int kRowPitch = kRowBytes;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kChunksPerRow = kRowBytes / kChunkBytes;
  static constexpr int kRowsPerLine = kChunksPerRow < kChunksPerLine ? kChunksPerLine / kChunksPerRow : 1;
  static constexpr int kSwizzleMask = (kChunksPerRow < kChunksPerLine ? kChunksPerRow : kChunksPerLine) - 1;

  static_assert(kRowBytes % kChunkBytes == 0 && (kChunksPerRow & (kChunksPerRow - 1)) == 0,
                "SharedTile: a row must be a power-of-two number of 16-byte chunks");

  // What the chunk numbers of `row` are XORed with. swizzle(x + y) == swizzle(x) ^ swizzle(y) where x and y
  // have no common bit: callers move from row to row and chunk to chunk with an XOR by a constant.
  __host__ __device__ static constexpr int swizzle(int row) {
    return ((row / kRowsPerLine) * kChunksPerWrite) & kSwizzleMask;
  }

  // Byte offset of a chunk from the tile's start.
  __host__ __device__ static constexpr uint32_t offset(int row, int chunk) {
    return row * kRowBytes + ((chunk ^ swizzle(row)) * kChunkBytes);
  }
};

}  // namespace autokernel::sm80
