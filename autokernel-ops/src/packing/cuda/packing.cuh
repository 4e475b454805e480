// Weights as numbers of 8 or 4 bits with a scale for each group along K, and perhaps a zero point.
//
// A team of lanes has a group, and a lane eight weights of it at a time, which it holds until all lanes know the group's ends. So a team of
// a group of 32, 64 or 128 is 4, 8 or 16 lanes, and weights are read once. A whole row is a warp's, which goes over it twice: the second
// time it comes from a cache. A block has the same group of as many rows as it has teams, whose scales lie side by side.
//
// w[n][k], packed[n][k], scales[k / group][n] and zeros[k / group][n], or scales[n] of whole rows.
#pragma once

#include "packing_numbers.cuh"

namespace autokernel::packing {

constexpr int kTurn = 8;  // weights that a lane holds at a time

// Where the weights of a lane lie, of those that a team of so many holds at a time, and how their numbers are written.
template <typename Packed, int kLanes>
struct Share;

// Bytes side by side are those of lanes side by side.
template <int kLanes>
struct Share<i8, kLanes> {
  __device__ __forceinline__ static int place(int lane, int i) { return i * kLanes + lane; }

  __device__ __forceinline__ static void store(i8* row, int first, int end, int lane, const int (&numbers)[kTurn]) {
#pragma unroll
    for (int i = 0; i < kTurn; ++i) {
      const int k = first + place(lane, i);
      if (k < end) row[k] = i8{static_cast<int8_t>(numbers[i])};
    }
  }
};

// A lane has the eight numbers of one of the four words of a unit: pairs of neighbours, 8 apart. See packed4.cuh.
template <int kLanes>
struct Share<i4x2, kLanes> {
  static constexpr int kWords = kPacked4Bytes / 4;  // of a unit

  __device__ __forceinline__ static int place(int lane, int i) {
    return lane / kWords * kPacked4Numbers + i / 2 * 8 + lane % kWords * 2 + i % 2;
  }

  // Units are whole, so that a word is of the row or beyond it.
  __device__ __forceinline__ static void store(i4x2* row, int first, int end, int lane, const int (&numbers)[kTurn]) {
    if (first + place(lane, 0) >= end) return;
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < kTurn; ++i) word |= uint32_t(numbers[i] & 0xf) << (i / 2 * 4 + i % 2 * 16);
    auto* bytes = reinterpret_cast<uint8_t*>(row) + first / 2 + lane * 4;
    if (reinterpret_cast<uintptr_t>(bytes) % 4 == 0) {
      *reinterpret_cast<uint32_t*>(bytes) = word;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) bytes[i] = uint8_t(word >> (8 * i));
    }
  }
};

template <typename Problem, typename Schedule, typename Args>
struct Packing {
  using Weight = typename Problem::Weight;
  using Packed = typename Problem::Packed;
  static constexpr int kGroup = Problem::kGroup;
  static constexpr bool kWholeRow = kGroup == 0;
  static constexpr int kLanes = kWholeRow ? kWarpSize : kGroup / kTurn;  // of a team
  static constexpr int kTeams = Schedule::kThreads / kLanes;             // of a block
  static constexpr int kStep = kLanes * kTurn;                           // weights that a team holds at a time
  static_assert(kLanes <= kWarpSize && kWarpSize % kLanes == 0, "a team is a part of a warp");

  __device__ __forceinline__ static void run(const Args& args) {
    if constexpr (Schedule::kOverlaps) ptx::wait_for_previous_grids();
    const int groups = kWholeRow ? 1 : args.k / kGroup;
    const int group = int(blockIdx.x % groups);
    const int row = int(blockIdx.x / groups) * kTeams + int(threadIdx.x) / kLanes;
    const int lane = threadIdx.x % kLanes;
    // Lanes beyond the last row meet the others of their warp, and see no weight.
    const int begin = group * kGroup;
    const int end = row >= args.n ? begin : kWholeRow ? args.k : begin + kGroup;
    const auto* w = static_cast<const Weight*>(args.w) + row * args.w_stride;
    auto* packed = static_cast<Packed*>(args.packed) + row * args.packed_stride;

    float weights[kTurn];
    Ends ends;
    for (int first = begin; first < end; first += kStep) {
      load(weights, w, first, end, lane);
#pragma unroll
      for (int i = 0; i < kTurn; ++i) ends.take(weights[i]);
    }
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) {
      ends.take(__shfl_xor_sync(~0u, ends.least, mask));
      ends.take(__shfl_xor_sync(~0u, ends.largest, mask));
    }
    if (row >= args.n) return;

    const Grid<Packed, Problem::kZeros> grid(ends);
    for (int first = begin; first < end; first += kStep) {
      if constexpr (kWholeRow) load(weights, w, first, end, lane);
      int numbers[kTurn];
#pragma unroll
      for (int i = 0; i < kTurn; ++i) numbers[i] = grid.number(weights[i]);
      Share<Packed, kLanes>::store(packed, first, end, lane, numbers);
    }
    if (lane == 0) {
      int64_t scale = row, zero = row;
      if constexpr (!kWholeRow) scale += group * args.scales_stride;
      static_cast<typename Problem::Scale*>(args.scales)[scale] = from_f32<typename Problem::Scale>(grid.scale);
      if constexpr (Problem::kZeros) {
        zero += group * args.zeros_stride;
        static_cast<i8*>(args.zeros)[zero] = i8{static_cast<int8_t>(grid.zero)};
      }
    }
  }

 private:
  // A lane's weights of those from `first` on; 0 for what is beyond the last.
  __device__ __forceinline__ static void load(float (&weights)[kTurn], const Weight* w, int first, int end, int lane) {
#pragma unroll
    for (int i = 0; i < kTurn; ++i) {
      const int k = first + Share<Packed, kLanes>::place(lane, i);
      weights[i] = k < end ? to_f32(w[k]) : 0.0f;
    }
  }
};

}  // namespace autokernel::packing
