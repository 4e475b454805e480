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

  // With what the other lanes have; all get the result.
  template <int kLanes>
  __device__ __forceinline__ void across_lanes() {
    value = reduce_lanes<Op, kLanes>(value);
  }

  // The same of what lanes have reduced of their own elements.
  template <int kLanes>
  __device__ __forceinline__ void across_threads() {
    across_lanes<kLanes>();
  }

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
  static constexpr bool kIsShared = kBlocks > 1;  // by blocks, which tell each other what their warps have brought together
  static_assert((kThreads & (kThreads - 1)) == 0, "schedule rule `threads`: a power of two");
  static_assert(kThreads * kTeams % kWarpSize == 0, "schedule rule `threads`: whole warps");
  static_assert(kBlocks == 1 || kThreads >= kWarpSize, "schedule rule `cluster`: whole warps a row");
  static_assert(kBlocks == 1 || kTeams == 1 || kHow == Teams::kApart, "who shares rows with blocks waits for them alone");
  static constexpr int kSharing = kIsShared ? kTeams : 1;
  static constexpr int kNumbers = kMostReductions > 0 ? kMostReductions : 1;

  // What warps tell those of their block, and blocks each other. Two halves, used in turn: who writes the next reduction's
  // numbers is at most one barrier ahead of those that still read this one's.
  struct Scratch {
    float values[kWarps > 1 ? 2 : 1][kTeams][kNumbers][kWarps];
    float shared[2][kSharing][kNumbers][kBlocks];
    // Of a cluster, an mbarrier of each half: of the bytes that its blocks have sent here, and of the blocks. A block arrives when
    // all of its threads have read what it was sent the time before; so who has seen all blocks arrive may write what they read
    // then. Who used each half but once need not stay until others have: what it sent was needed by them before they end.
    uint64_t arrived[2][kSharing];
  };

  Scratch& scratch;
  uint32_t turns = 0;  // reductions so far

  // Before the first reduction: of a cluster, all blocks must have begun when one writes to another.
  __device__ __forceinline__ void meet() {
    if constexpr (kBlocks > 1) {
      if (threadIdx.x == 0) {
        for (int half = 0; half < 2; ++half) {
          for (int team = 0; team < kSharing; ++team) {
            ptx::mbarrier_init(ptx::shared_address(&scratch.arrived[half][team]), 1 + kBlocks);
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
    reduce_meanwhile([] {}, accumulators...);
  }

  // The same, and `errand` once a thread has nothing to do but wait for other blocks.
  template <typename Errand, typename... Accumulators>
  __device__ __forceinline__ void reduce_meanwhile(Errand errand, Accumulators&... accumulators) {
    static_assert((Accumulators::kNumbers + ...) <= kMostReductions, "as many fit the scratch");
    (accumulators.template across_threads<kLanes>(), ...);
    const int half = turns % 2;
    if constexpr (kWarps > 1) {
      auto& values = scratch.values[half][number()];
      if (threadIdx.x % kWarpSize == 0) put(values, threadIdx.x % kThreads / kWarpSize, accumulators...);
      // Of a cluster one warp brings them together, for all of the block.
      const bool takes = !kIsShared || threadIdx.x % kThreads < kWarpSize;
      if (kHow == Teams::kTogether || takes) {
        sync();
      } else {
        ptx::named_barrier_arrive(1 + number(), kThreads);
      }
      if (takes) take(values, accumulators...);
    }
    if constexpr (kIsShared) share(half, errand, accumulators...);
    if constexpr (kWarps > 1 || kIsShared) ++turns;
  }

 private:
  template <int kParts>
  using Slots = float[kNumbers][kParts];

  // What a warp has, for the others.
  template <int kParts, typename... Accumulators>
  __device__ __forceinline__ static void put(Slots<kParts>& slots, int part, Accumulators&... accumulators) {
    int slot = 0;
    (accumulators.numbers([&](float number) { slots[slot++][part] = number; }), ...);
  }

  // What all parts have, brought together; every lane gets it.
  template <int kParts, typename... Accumulators>
  __device__ __forceinline__ static void take(const Slots<kParts>& slots, Accumulators&... accumulators) {
    const int part = threadIdx.x % kWarpSize % kParts;
    int slot = 0;
    (accumulators.numbers([&](float& number) { number = slots[slot++][part]; }), ...);
    (accumulators.template across_lanes<kParts>(), ...);
  }

  // What the blocks have. The first warp knows what this one has.
  template <typename Errand, typename... Accumulators>
  __device__ __forceinline__ void share(int half, Errand errand, Accumulators&... accumulators) {
    constexpr int kSent = (Accumulators::kNumbers + ...);
    const int sharing = kSharing > 1 ? number() : 0;
    auto& shared = scratch.shared[half][sharing];
    const uint32_t arrived = ptx::shared_address(&scratch.arrived[half][sharing]);
    const int member = threadIdx.x % kThreads;
    if (member == 0) ptx::mbarrier_arrive_expect_bytes(arrived, kBlocks * kSent * sizeof(float));
    if (member < kBlocks) {
      const int peer = member % kBlocks;  // of every thread, as addresses may be computed ahead
      const uint32_t slots = ptx::peer_address(ptx::shared_address(&shared[0][block()]), peer);
      const uint32_t there = ptx::peer_address(arrived, peer);
      int slot = 0;
      const auto send = [&](float number) {
        store_peer_counted(slots + slot++ * int(sizeof(shared[0])), number, there);
      };
      (accumulators.numbers(send), ...);
      ptx::mbarrier_arrive_remote(arrived, peer);
    }
    errand();
    ptx::mbarrier_wait(arrived, turns / 2 % 2);
    take(shared, accumulators...);
  }
};

}  // namespace autokernel::rows
