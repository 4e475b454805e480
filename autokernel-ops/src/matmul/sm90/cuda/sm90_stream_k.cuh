// Stream K: how sums pass from the clusters that hand them on to the one that finishes the tile.
//
// Each CTA hands on once a launch at most, so it has one slot in a workspace, and each of its warps a flag. A thread talks
// to the threads of its own number alone: what it leaves are its accumulators as they are. A tile's parts are added in a
// fixed order, so results repeat bit by bit. Who has seen a flag clears it: between launches nothing need be.
#pragma once

#include "ptx/sm90.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_shares.cuh"

namespace autokernel::sm90 {

template <typename G>
struct StreamK {
  static constexpr int kWarps = kWarpsPerWarpgroup * G::kSharing;  // those of one tile
  static constexpr int kVectors = G::kAccumulators / 4;            // 16-byte words a thread
  static_assert(kWarps * static_cast<int>(sizeof(uint32_t)) == G::kFlagBytes, "the workspace has a flag a warp");
  static_assert(kWarps * kVectors * kWarpSize * static_cast<int>(sizeof(float4)) == G::kSlotBytes,
                "the workspace has a word for each sum");

  float4* slots;    // this thread's first word of CTA 0
  uint32_t* flags;  // this warp's of CTA 0

  // `warp`: among those of the tile.
  template <typename Args>
  __device__ __forceinline__ StreamK(const Args& args, int warp)
      : slots(static_cast<float4*>(args.handed_on) + warp * kVectors * kWarpSize + threadIdx.x % kWarpSize),
        flags(static_cast<uint32_t*>(args.flags) + warp) {}

  __device__ __forceinline__ void hand_on(const Accumulators<G>& acc) const {
    float4* to = slot(blockIdx.x);
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; i += 4, to += kWarpSize) {
        ptx::store_l2(to, G::Sums::packed(acc[block] + i));
      }
    }
    __syncwarp();  // the release is of what all lanes wrote
    if (threadIdx.x % kWarpSize == 0) ptx::store_release(flag(blockIdx.x), 1);
    __syncwarp();  // the next main loop is for whole warps
  }

  // Adds what the clusters from the first contributor up to this one handed on, the nearest first.
  __device__ __forceinline__ void finish(Accumulators<G>& acc, int clusters_before) const {
#pragma unroll 1  // the loads of one at a time: those of several would not fit the registers
    for (int distance = 1; distance <= clusters_before; ++distance) {
      add(acc, blockIdx.x - distance * G::kClusterSize);
    }
  }

 private:
  __device__ __forceinline__ void add(Accumulators<G>& acc, int block_index) const {
    if (threadIdx.x % kWarpSize == 0) {
      while (ptx::load_acquire(flag(block_index)) == 0) {
      }
      *flag(block_index) = 0;  // for the next launch
    }
    __syncwarp();  // the acquire is for all lanes
    const float4* from = slot(block_index);
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; i += 4, from += kWarpSize) {
        G::Sums::add(acc[block] + i, ptx::load_l2(from));
      }
    }
  }

  __device__ __forceinline__ float4* slot(int block_index) const {
    return slots + int64_t{block_index} * (kWarps * kVectors * kWarpSize);
  }
  __device__ __forceinline__ uint32_t* flag(int block_index) const { return flags + block_index * kWarps; }
};

}  // namespace autokernel::sm90
