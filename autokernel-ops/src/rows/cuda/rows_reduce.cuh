// Reductions along a row: within a vector, within a thread, among the threads of a row.
//
// The order is fixed by the schedule, so that two runs give the same bits. All reductions of a pass cross the row's
// threads together: five shuffles, and where a row has more than one warp a barrier and as many shuffles as it needs.
#pragma once

#include "fast_math.cuh"
#include "ptx/sm90.cuh"
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

// What a thread has reduced so far.
template <typename Op>
struct Accumulator {
  static constexpr int kNumbers = 1;
  float value = Op::kIdentity;

  // Takes the elements of a span that is inside the row. Neighbours are combined in pairs: short chains, small errors.
  template <int kVector>
  __device__ __forceinline__ void add(float (&elements)[kVector], Span<kVector> span) {
#pragma unroll
    for (int half = kVector / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) elements[i] = Op::combine(elements[i], elements[i + half]);
    }
    value = Op::combine(value, span.is_inside ? elements[0] : Op::kIdentity);
  }

  // With the other lanes; all get the result.
  template <int kLanes>
  __device__ __forceinline__ void across_lanes() {
    value = reduce_lanes<Op, kLanes>(value);
  }

  __device__ __forceinline__ void merge(const Accumulator& other) { value = Op::combine(value, other.value); }

  // Calls `visit` for each number that threads tell each other.
  template <typename Visit>
  __device__ __forceinline__ void numbers(Visit visit) {
    visit(value);
  }
};

// To a peer_address, where a barrier in the same block counts the bytes: who waits for it there sees the number. Unlike a
// barrier of the cluster this waits for none of the sender's other stores.
__device__ __forceinline__ void store_peer_counted(uint32_t address, float x, uint32_t barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(address), "f"(x),
               "r"(barrier)
               : "memory");
}

// How the teams of a block reduce.
enum class Teams {
  kTogether,  // all at once, at barriers of the block
  kApart,     // each when it comes to it, at a barrier of its own
};

// The threads that share a row: kThreads of each of kBlocks blocks, which are a cluster if there are several. A block
// has kTeams such teams. kTakesTurns: they may reduce more than twice, and so use the halves of their scratch again.
template <int kThreads, int kTeams, int kBlocks, int kMostReductions, bool kTakesTurns, Teams kHow = Teams::kTogether>
struct Team {
  static constexpr int kLanes = kThreads < kWarpSize ? kThreads : kWarpSize;
  static constexpr int kWarps = kThreads / kLanes;
  static constexpr int kParts = kWarps * kBlocks;
  static_assert((kThreads & (kThreads - 1)) == 0, "schedule rule `threads`: a power of two");
  static_assert(kThreads * kTeams % kWarpSize == 0, "schedule rule `threads`: whole warps");
  static_assert(kBlocks == 1 || kThreads >= kWarpSize, "schedule rule `cluster`: whole warps a row");
  static_assert(kBlocks == 1 || kTeams == 1 || kHow == Teams::kApart, "who shares rows with blocks waits for them alone");
  static constexpr int kSharing = kBlocks > 1 ? kTeams : 1;

  // One warp's values for the others. Two halves, used in turn: a warp that writes the next reduction's values is at
  // most one barrier ahead of those that still read this one's.
  struct Scratch {
    float values[kParts > 1 ? 2 : 1][kTeams][kMostReductions > 0 ? kMostReductions : 1][kParts];
    // Of a cluster, mbarriers of each half: what its blocks have sent here, in bytes, and which of their warps have taken
    // what this block sent. Who used each half but once need not ask, nor stay until others have taken: what it sent was
    // needed by them before they end.
    uint64_t arrived[2][kSharing];
    uint64_t taken[2][kSharing];
  };

  Scratch& scratch;
  uint32_t turns = 0;  // reductions so far

  // Before the first reduction: of a cluster, all blocks must have begun when one writes to another.
  __device__ __forceinline__ void meet() {
    if constexpr (kBlocks > 1) {
      if (threadIdx.x == 0) {
        for (int half = 0; half < 2; ++half) {
          for (int team = 0; team < kSharing; ++team) {
            ptx::mbarrier_init(ptx::shared_address(&scratch.arrived[half][team]), 1);
            ptx::mbarrier_init(ptx::shared_address(&scratch.taken[half][team]), kParts);
          }
        }
        ptx::fence_mbarrier_init();
      }
      ptx::cluster_sync();
    }
  }

  // Behind the last reduction: no block may end that another one still tells what it took.
  __device__ __forceinline__ static void part() {
    if constexpr (kBlocks > 1 && kTakesTurns) ptx::cluster_sync();
  }

  __device__ __forceinline__ static int block() { return kBlocks > 1 ? ptx::cluster_rank() : 0; }
  __device__ __forceinline__ static int number() { return threadIdx.x / kThreads; }
  __device__ __forceinline__ static int member() { return block() * kThreads + threadIdx.x % kThreads; }

  // Of teams that are apart: waits for the threads of this one in this block.
  __device__ __forceinline__ static void sync() {
    if constexpr (kHow == Teams::kTogether) {
      __syncthreads();
    } else {
      ptx::named_barrier_wait(1 + number(), kThreads);
    }
  }

  // Every thread of the blocks calls this as often as the others; of teams that are apart, every thread of the team.
  template <typename... Accumulators>
  __device__ __forceinline__ void reduce(Accumulators&... accumulators) {
    constexpr int kNumbers = (Accumulators::kNumbers + ...);
    static_assert(kNumbers <= kMostReductions, "as many fit the scratch");
    (accumulators.template across_lanes<kLanes>(), ...);
    if constexpr (kParts > 1) {
      const uint32_t half = turns % 2, parity = turns / 2 % 2;
      auto& values = scratch.values[half][number()];
      const int sharing = kSharing > 1 ? number() : 0;
      const uint32_t arrived = ptx::shared_address(&scratch.arrived[half][sharing]);
      const uint32_t taken = ptx::shared_address(&scratch.taken[half][sharing]);
      int slot = 0;
      if constexpr (kBlocks > 1) {
        if (threadIdx.x % kThreads == 0) ptx::mbarrier_arrive_expect_bytes(arrived, kNumbers * sizeof(values[0]));
        if constexpr (kTakesTurns) ptx::mbarrier_wait(taken, parity ^ 1);
      }
      (accumulators.numbers([&](float number) { send(values[slot++], number, arrived); }), ...);
      if constexpr (kBlocks > 1) {
        ptx::mbarrier_wait(arrived, parity);
      } else {
        sync();
      }
      slot = 0;
      (collect(values, slot, accumulators), ...);
      if constexpr (kBlocks > 1 && kTakesTurns) {
        const int lane = threadIdx.x % kWarpSize;
        __syncwarp();  // all lanes have read
        if (lane < kBlocks) ptx::mbarrier_arrive_remote(taken, lane);
      }
      ++turns;
    }
  }

 private:
  // The value of this warp to all blocks of the team.
  __device__ __forceinline__ static void send(float (&parts)[kParts], float value, uint32_t arrived) {
    const int lane = threadIdx.x % kWarpSize;
    float& part = parts[member() / kWarpSize];
    if constexpr (kBlocks > 1) {
      const int peer = lane % kBlocks;  // of every lane, as addresses may be computed ahead
      if (lane < kBlocks) {
        store_peer_counted(ptx::peer_address(ptx::shared_address(&part), peer), value, ptx::peer_address(arrived, peer));
      }
    } else {
      if (lane == 0) part = value;
    }
  }

  // What all warps have sent of an accumulator, whose numbers begin at `slot`.
  template <typename Accumulator, int kSlots>
  __device__ __forceinline__ static void collect(const float (&values)[kSlots][kParts], int& slot,
                                                 Accumulator& accumulator) {
    const int lane = threadIdx.x % kWarpSize;
    const auto take = [&](Accumulator& taken, int part) {
      int at = slot;
      taken.numbers([&](float& number) { number = values[at++][part]; });
    };
    take(accumulator, lane % kParts);
#pragma unroll
    for (int part = kWarpSize; part < kParts; part += kWarpSize) {
      Accumulator other;
      take(other, part + lane);
      accumulator.merge(other);
    }
    accumulator.template across_lanes<(kParts < kWarpSize ? kParts : kWarpSize)>();
    slot += Accumulator::kNumbers;
  }
};

}  // namespace autokernel::rows
