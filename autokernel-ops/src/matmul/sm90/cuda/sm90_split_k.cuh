// Split K: the CTAs of a cluster multiply a share of K each for one output tile, and add up through distributed shared
// memory. How many they are, a launch says.
//
// The tile is divided by warps: of the consumer warps, each CTA finishes a run, as even as whole warps allow, with the same
// accumulators that the warps of that number hold in every CTA; of more CTAs than warps some finish none. So a thread talks
// to the threads of its own number alone, no register index depends on the rank, and any tile can be divided by any number,
// a single block of 64x8 too. Each element is summed by one thread in a fixed order of ranks: results repeat bit by bit.
#pragma once

#include "ptx/sm90.cuh"
#include "sm90_mainloop.cuh"

namespace autokernel::sm90 {

template <typename G>
struct SplitK {
  static constexpr int kVectors = G::kAccumulators / 4;  // 16-byte words a thread
  static constexpr uint32_t kVectorBytes = kWarpSize * static_cast<uint32_t>(sizeof(float4));
  static constexpr uint32_t kWarpBytes = kVectors * kVectorBytes;

  uint32_t ring;  // where partial sums arrive: nothing is loaded any more
  int split_k;    // CTAs of the cluster
  int rank;       // of this CTA
  int owner;      // the CTA that finishes this warp's part of the tile
  int place;      // of this warp among those that the owner finishes

  __device__ __forceinline__ SplitK(const SharedLayout<G>& shared, int consumer_warp, int split_k)
      : ring(shared.a(0)),
        split_k(split_k),
        rank(ptx::cluster_rank()),
        owner(consumer_warp * split_k / G::kTileWarps),
        place(consumer_warp - ceil_div(owner * G::kTileWarps, split_k)) {}

  // Whether this CTA finishes that warp's part of its tiles.
  template <typename Walk>
  __device__ __forceinline__ static bool finishes(const Walk& walk, int consumer_warp) {
    if constexpr (!G::kSplits) return true;
    return !walk.is_split() || consumer_warp * walk.split_k / G::kTileWarps == static_cast<int>(ptx::cluster_rank());
  }

  // Adds up the cluster's partial sums. False for a warp whose part of the tile another CTA finishes.
  __device__ __forceinline__ bool reduce(Accumulators<G>& acc) const {
    const bool owns = rank == owner;
    ptx::cluster_sync();  // every CTA has read its ring for the last time
    if (!owns) send(acc);
    ptx::cluster_sync();
    if (owns) add_received(acc);
    return owns;
  }

  // A barrier of the cluster counts every thread: those that do not consume take part in it here.
  __device__ __forceinline__ static void attend() {
    ptx::cluster_sync();
    ptx::cluster_sync();
  }

 private:
  // A warp that another CTA finishes: its sums to that CTA. Neighbouring lanes write neighbouring 16 bytes.
  __device__ __forceinline__ void send(const Accumulators<G>& acc) const {
    const int distance = (rank - owner + split_k) % split_k;
    uint32_t to = ptx::peer_address(slot(distance), owner);
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; i += 4, to += kVectorBytes) {
        ptx::store_peer(to, G::Sums::packed(acc[block] + i));
      }
    }
  }

  // A warp that this CTA finishes: adds what the next rank sent, then the one after it, and so on around.
  __device__ __forceinline__ void add_received(Accumulators<G>& acc) const {
#pragma unroll 1  // the loads of one rank at a time: those of several would not fit the registers
    for (int distance = 1; distance < split_k; ++distance) {
      uint32_t from = slot(distance);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < G::kWidth / 2; i += 4, from += kVectorBytes) {
          G::Sums::add(acc[block] + i, ptx::load_shared_float4(from));
        }
      }
    }
  }

  // This lane's first vector from the CTA `distance` ranks after the owner.
  __device__ __forceinline__ uint32_t slot(int distance) const {
    const int index = (distance - 1) * ceil_div(G::kTileWarps, split_k) + place;
    return ring + index * kWarpBytes + threadIdx.x % kWarpSize * static_cast<uint32_t>(sizeof(float4));
  }
};

}  // namespace autokernel::sm90
