// The ring of stages between the producer and the consumers: one full and one empty mbarrier a stage.
#pragma once

#include "ptx/sm90.cuh"
#include "sm90_shared.cuh"

namespace autokernel::sm90 {

// A place in the ring. It runs on across tiles; `parity` flips with each lap, as the barriers' phases do.
template <int kStages>
struct RingCursor {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }

  // Past k-blocks that another warpgroup consumes, any number of laps.
  __device__ __forceinline__ void skip(int blocks) {
    const int position = stage + blocks;
    stage = position % kStages;
    parity ^= (position / kStages) & 1;
  }
};

// Every warp that reads a stage releases it, in every CTA whose multicasts write to it.
template <typename G>
constexpr int kEmptyArrivals = kWarpsPerWarpgroup * G::kSharing * G::kClusterSize;

template <typename G>
__device__ __forceinline__ void init_ring(const SharedLayout<G>& shared) {
  for (int stage = 0; stage < G::kStages; ++stage) {
    ptx::mbarrier_init(shared.full(stage), 1);
    ptx::mbarrier_init(shared.empty(stage), kEmptyArrivals<G>);
  }
  ptx::fence_mbarrier_init();
}

// Producer: until the stage is free, then announce what will be copied into it. The first lap does not wait:
// a fresh barrier counts as having completed the phase before.
template <typename G>
__device__ __forceinline__ void acquire_stage(const SharedLayout<G>& shared, const RingCursor<G::kStages>& cursor) {
  ptx::mbarrier_wait(shared.empty(cursor.stage), cursor.parity ^ 1);
  ptx::mbarrier_arrive_expect_bytes(shared.full(cursor.stage), G::kStageBytes);
}

// Consumer: until both operands are there.
template <typename G>
__device__ __forceinline__ void wait_for_stage(const SharedLayout<G>& shared, const RingCursor<G::kStages>& cursor) {
  ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);
}

// Consumer, each warp once: this warp's wgmmas have finished reading the stage.
template <typename G>
__device__ __forceinline__ void release_stage(const SharedLayout<G>& shared, int stage) {
  const int lane = threadIdx.x % kWarpSize;
  if constexpr (G::kClusterSize > 1) {
    if (lane < G::kClusterSize) ptx::mbarrier_arrive_remote(shared.empty(stage), lane);
  } else {
    if (lane == 0) ptx::mbarrier_arrive(shared.empty(stage));
  }
}

// Ping-pong: the consumers' main loops take turns, so that one multiplies while the other stores. Correctness needs
// it too: a parity tells only neighbouring phases apart, so a consumer may not wait for a stage more than a lap ahead.
struct Turns {
  static constexpr int kThreads = 2 * kWarpgroupSize;  // one waits, the other arrives
  static constexpr int kFirstBarrier = 1;

  __device__ __forceinline__ static void wait(int consumer) {
    ptx::named_barrier_wait(kFirstBarrier + consumer, kThreads);
  }
  __device__ __forceinline__ static void pass_to(int consumer) {
    ptx::named_barrier_arrive(kFirstBarrier + consumer, kThreads);
  }
};

}  // namespace autokernel::sm90
