// Reductions along a row: within a vector, within a thread, among the threads of a row.
//
// The order is fixed by the schedule, so that two runs give the same bits. All reductions of a pass cross the row's
// threads together: five shuffles, and where a row has more than one warp a barrier and as many shuffles as it needs.
#pragma once

#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

struct Sum {
  static constexpr float kIdentity = 0.0f;
  __device__ __forceinline__ static float combine(float x, float y) { return x + y; }
};

// As f32::max and f32::min: a NaN gives way to any number.
struct Max {
  static constexpr float kIdentity = -__builtin_huge_valf();
  __device__ __forceinline__ static float combine(float x, float y) { return fmaxf(x, y); }
};

struct Min {
  static constexpr float kIdentity = __builtin_huge_valf();
  __device__ __forceinline__ static float combine(float x, float y) { return fminf(x, y); }
};

// What a thread has reduced so far.
template <typename Op>
struct Accumulator {
  using Reduction = Op;
  float value = Op::kIdentity;

  // Takes the elements of a span that are inside the row. Neighbours are combined in pairs: short chains, small errors.
  template <int kVector>
  __device__ __forceinline__ void add(float (&elements)[kVector], Span<kVector> span) {
    if (!span.is_whole()) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) elements[i] = span.holds(i) ? elements[i] : Op::kIdentity;
    }
#pragma unroll
    for (int half = kVector / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) elements[i] = Op::combine(elements[i], elements[i + half]);
    }
    value = Op::combine(value, elements[0]);
  }
};

// Reduces over lanes whose numbers differ in their low bits alone; every lane gets the result, and the same bits, as
// the operations are commutative.
template <typename Op, int kLanes>
__device__ __forceinline__ float reduce_lanes(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = Op::combine(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

// The threads that share a row: kThreads of them, in a block of kTeams such teams.
template <int kThreads, int kTeams, int kMostReductions>
struct Team {
  static constexpr int kLanes = kThreads < kWarpSize ? kThreads : kWarpSize;
  static constexpr int kWarps = kThreads / kLanes;
  static_assert((kThreads & (kThreads - 1)) == 0, "schedule rule `threads`: a power of two");
  static_assert(kThreads * kTeams % kWarpSize == 0, "schedule rule `threads`: whole warps");

  // One warp's values for the others. Two halves, used in turn: a warp that writes the next reduction's values is at
  // most one barrier ahead of those that still read this one's.
  struct Scratch {
    float values[kWarps > 1 ? 2 : 1][kTeams][kMostReductions > 0 ? kMostReductions : 1][kWarps];
  };

  Scratch& scratch;
  int half = 0;

  __device__ __forceinline__ static int number() { return threadIdx.x / kThreads; }
  __device__ __forceinline__ static int member() { return threadIdx.x % kThreads; }

  // Every thread of the block calls this as often as the others.
  template <typename... Accumulators>
  __device__ __forceinline__ void reduce(Accumulators&... accumulators) {
    static_assert(sizeof...(Accumulators) <= kMostReductions, "as many fit the scratch");
    ((accumulators.value = reduce_lanes<typename Accumulators::Reduction, kLanes>(accumulators.value)), ...);
    if constexpr (kWarps > 1) {
      auto& values = scratch.values[half][number()];
      const int lane = member() % kWarpSize;
      int slot = 0;
      if (lane == 0) ((values[slot++][member() / kWarpSize] = accumulators.value), ...);
      __syncthreads();
      slot = 0;
      ((accumulators.value = reduce_lanes<typename Accumulators::Reduction, kWarps>(values[slot++][lane % kWarps])),
       ...);
      half ^= 1;
    }
  }
};

// 1 / x, to one unit in the last place. Unlike a division it has no slow path, whose call would spill what a thread holds.
__device__ __forceinline__ float reciprocal(float x) {
  float result;
  asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// A number that every element of a row is divided by: two multiplications, within two units in the last place of the
// quotient. A divisor whose reciprocal would leave the normal range is scaled into it first, by a power of two.
struct Divisor {
  float reciprocal;
  float scale;

  Divisor() = default;
  __device__ __forceinline__ explicit Divisor(float divisor) {
    scale = fabsf(divisor) < 0x1p-64f ? 0x1p64f : fabsf(divisor) > 0x1p64f ? 0x1p-64f : 1.0f;
    reciprocal = rows::reciprocal(divisor * scale);
  }
};

__device__ __forceinline__ float operator/(float element, const Divisor& divisor) {
  return element * divisor.reciprocal * divisor.scale;
}

}  // namespace autokernel::rows
