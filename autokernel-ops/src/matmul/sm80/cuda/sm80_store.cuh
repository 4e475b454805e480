// The epilogue: accumulators through the fused function, to the output type, to global memory.
//
// The tensor core leaves each lane with pairs of neighbouring elements, which would store as scattered 4-byte
// pieces. Each warp therefore passes its tile, 16 rows at a time, through its own slab of shared memory, from
// where whole rows leave in 16-byte stores. Warps do not wait for each other.
#pragma once

#include "ptx/shared_bytes.cuh"
#include "ptx/sm80.cuh"
#include "sm80_schedule.cuh"
#include "sm80_shared_tile.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

constexpr int kSlabRows = kMmaM;

// The part of C that one slab covers.
template <typename Output>
struct OutputSlab {
  Output* origin;
  int64_t ld;
  int rows;  // that exist, counted from the origin: may exceed the slab, or be <= 0
  int columns;
};

// Two accumulators of one row as they are staged: 2 bytes of 8-bit outputs, 4 of 16-bit ones or 8 of fp32.
template <typename Output>
__device__ __forceinline__ auto staged_pair(float first, float second) {
  if constexpr (DtypeOf<Output>::value == Dtype::kF32) {
    return make_float2(first, second);
  } else if constexpr (sizeof(Output) == 1) {
    return static_cast<uint16_t>(pack2<Output>(first, second));
  } else {
    return pack2<Output>(first, second);
  }
}

template <typename Problem, int kWarpColumns>
struct SlabStore {
  using Output = typename Problem::Output;
  static constexpr int kOutputBytes = sizeof(Output);
  static constexpr int kPairBytes = 2 * kOutputBytes;
  using Layout = SharedTile<kSlabRows, kWarpColumns * kOutputBytes, kOutputBytes == 4 ? 2 : 1>;
  using Element = typename UnsignedOf<kOutputBytes>::Type;

  // Writes one row of mma tiles to the slab.
  __device__ __forceinline__ static void stage(uint32_t shared, const float (*accumulators)[4]) {
    const int lane = threadIdx.x % kWarpSize;
    const int row = lane / 4;
#pragma unroll
    for (int j = 0; j < kWarpColumns / kMmaN; ++j) {
      const int byte = (j * kMmaN + lane % 4 * 2) * kOutputBytes;
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // of the mma's rows
        const float* pair = &accumulators[j][half * 2];
        ptx::store_shared(shared + Layout::offset(row + half * (kMmaM / 2), byte / kChunkBytes) + byte % kChunkBytes,
                          staged_pair<Output>(Problem::epilogue(pair[0]), Problem::epilogue(pair[1])));
      }
    }
  }

  // Stores the slab in pieces of sizeof(Unit); neighbouring lanes store neighbouring pieces of a row.
  template <typename Unit>
  __device__ __forceinline__ static void store_units(uint32_t shared, const OutputSlab<Output>& slab) {
    constexpr int kUnitElements = sizeof(Unit) / kOutputBytes;
    constexpr int kUnitsPerRow = kWarpColumns / kUnitElements;
    constexpr int kUnits = kSlabRows * kUnitsPerRow;
    constexpr int kPasses = ceil_div(kUnits, kWarpSize);
    constexpr int kUnroll = kPasses < 8 ? kPasses : 4;  // the narrow paths stay small
#pragma unroll kUnroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int unit = pass * kWarpSize + threadIdx.x % kWarpSize;
      const int row = unit / kUnitsPerRow;
      const int column = unit % kUnitsPerRow * kUnitElements;
      if (kUnits < kWarpSize && unit >= kUnits) continue;  // the narrowest slabs, of bytes
      if (row >= slab.rows || column >= slab.columns) continue;

      const int byte = column * kOutputBytes;
      const uint32_t source = shared + Layout::offset(row, byte / kChunkBytes) + byte % kChunkBytes;
      Output* target = slab.origin + row * slab.ld + column;
      if (column + kUnitElements <= slab.columns) {
        Unit value;
        ptx::load_shared(source, value);
        *reinterpret_cast<Unit*>(target) = value;
      } else {  // the unit straddles the right edge of C
#pragma unroll 1
        for (int i = 0; i < slab.columns - column; ++i) {
          Element value;
          ptx::load_shared(source + i * kOutputBytes, value);
          *reinterpret_cast<Element*>(target + i) = value;
        }
      }
    }
  }

  // Stores the slab in the widest pieces that the leading dimension keeps aligned; the base is 16-byte aligned.
  __device__ __forceinline__ static void store(uint32_t shared, const OutputSlab<Output>& slab) {
    store_aligned(shared, slab, slab.ld * kOutputBytes);
  }

  // The same where the base is any.
  __device__ __forceinline__ static void store_anywhere(uint32_t shared, const OutputSlab<Output>& slab) {
    store_aligned(shared, slab, slab.ld * kOutputBytes | reinterpret_cast<int64_t>(slab.origin));
  }

 private:
  // `alignment` is a multiple of what every row is.
  __device__ __forceinline__ static void store_aligned(uint32_t shared, const OutputSlab<Output>& slab,
                                                       int64_t alignment) {
    if (alignment % sizeof(uint4) == 0) {
      store_units<uint4>(shared, slab);
    } else if (alignment % sizeof(uint32_t) == 0) {
      store_units<uint32_t>(shared, slab);
    } else {
      store_units<Element>(shared, slab);
    }
  }
};

}  // namespace autokernel::sm80
