// Copies row-major matrices into rows that begin where loads want them, in units of one or two bytes.
//
// TMA takes bases and row strides that are multiples of 16 bytes, and a row of a load that straddles two cache lines
// costs two requests. An operand that begins or steps elsewhere is copied once into a scratch matrix that does not;
// this runs at memory speed, where a kernel on such operands would not.
//
// Launch: 256 threads, no dynamic shared memory, any grid with gridDim.z = the number of matrices. A warp takes rows
// blockIdx.x * 8 + warp, and of each row the segments blockIdx.y, blockIdx.y + gridDim.y, ... of 512 bytes.
#pragma once

#include "ptx/common.cuh"
#include "types.cuh"

namespace autokernel {

struct PadRows {
  const void* source;  // aligned to a unit
  void* target;        // 16-byte aligned
  int64_t source_ld;   // units, >= columns
  int64_t target_ld;   // units, of 16 bytes in all, >= columns rounded up to 16 bytes
  int64_t rows;
  int64_t columns;
};

struct PadRowsArgs {
  PadRows matrices[2];
};

namespace pad_rows {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
template <typename Unit>
constexpr int kVector = sizeof(uint4) / sizeof(Unit);
template <typename Unit>
constexpr int kPerWord = sizeof(uint32_t) / sizeof(Unit);

// The 16 bytes at unit `first` of the row, a multiple of 16 bytes in memory; zeros outside [0, columns).
template <typename Unit>
__device__ __forceinline__ uint4 load_vector(const Unit* row, int64_t first, int64_t columns) {
  if (first >= 0 && first + kVector<Unit> <= columns) return __ldcs(reinterpret_cast<const uint4*>(row + first));
  uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < kVector<Unit>; ++i) {
    const int64_t column = first + i;
    const uint32_t unit = column >= 0 && column < columns ? row[column] : 0;
    words[i / kPerWord<Unit>] |= unit << 8 * sizeof(Unit) * (i % kPerWord<Unit>);
  }
  return {words[0], words[1], words[2], words[3]};
}

// The 16 bytes from unit `shift` on of the 32 that `low` and `high` hold: a barrel shifter, as registers have no index.
template <typename Unit>
__device__ __forceinline__ uint4 shifted(uint4 low, uint4 high, int shift) {
  uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = shift & 2 * kPerWord<Unit> ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = shift & kPerWord<Unit> ? w[i + 1] : w[i];
  const int bits = shift % kPerWord<Unit> * 8 * static_cast<int>(sizeof(Unit));
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], bits);
  return {w[0], w[1], w[2], w[3]};
}

__device__ __forceinline__ uint4 from_next_lane(uint4 v) {
  return {__shfl_down_sync(~0u, v.x, 1), __shfl_down_sync(~0u, v.y, 1), __shfl_down_sync(~0u, v.z, 1),
          __shfl_down_sync(~0u, v.w, 1)};
}

template <typename Unit>
__device__ __forceinline__ void run(const PadRows& matrix) {
  const int lane = threadIdx.x % kWarpSize;
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  for (int64_t r = first_row; r < matrix.rows; r += static_cast<int64_t>(gridDim.x) * kWarps) {
    const Unit* const __restrict__ source = static_cast<const Unit*>(matrix.source) + r * matrix.source_ld;
    Unit* const __restrict__ target = static_cast<Unit*>(matrix.target) + r * matrix.target_ld;
    const int shift = reinterpret_cast<uintptr_t>(source) % sizeof(uint4) / sizeof(Unit);

    constexpr int kSegment = kWarpSize * kVector<Unit>;
    const int64_t stride = int64_t{gridDim.y} * kSegment;
    for (int64_t segment = int64_t{blockIdx.y} * kSegment; segment < matrix.columns; segment += stride) {
      const int64_t column = segment + lane * kVector<Unit>;
      // Aligned loads only: each lane's 16 bytes span its own vector and the next lane's.
      // The last lane has no next one; its second load is under way before the shuffle waits for the first.
      const uint4 low = load_vector(source, column - shift, matrix.columns);
      uint4 beyond = {};
      if (lane == kWarpSize - 1 && shift != 0) beyond = load_vector(source, column - shift + kVector<Unit>, matrix.columns);
      const uint4 next = from_next_lane(low);
      const uint4 high = lane == kWarpSize - 1 ? beyond : next;
      if (column < matrix.columns) *reinterpret_cast<uint4*>(target + column) = shifted<Unit>(low, high, shift);
    }
  }
}

}  // namespace pad_rows
}  // namespace autokernel
