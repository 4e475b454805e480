// Rows of C that a body reduces, on Hopper: the warps of a tile leave parts of them, and where a tile is the last of its rows, somebody
// brings these together.
//
// To count a tile takes the time of two accesses to L2, which the next tile must not wait for. So a consumer counts its last tile alone,
// whose rows its warps bring together; those before, a warp of the producer's warpgroup that has nothing else to do. It is told of a tile at
// one named barrier, and tells at another that it is ready for the next one.
#pragma once

#include "body_statistics.cuh"
#include "sm90_pipeline.cuh"
#include "sm90_tiles.cuh"

namespace autokernel::sm90 {

template <typename G, typename Body, bool kReduces = (body::kStatistics<Body> > 0)>
struct RowsOfTiles {
  static constexpr int kWarps = G::kTileWarps;
  static constexpr int kTurns = G::kPingPong ? 2 : 1;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr bool kIsFollowed = G::kConsumers < 3;  // three leave the producer's warps too few registers
  static constexpr int kRegisters = 8;                    // of those, for parts on their way
  // Barriers behind those of turns, one of each kind for each turn.
  static constexpr int kLeft = Turns::kFirstBarrier + 2;
  static constexpr int kReady = kLeft + kTurns;
  static constexpr int kMet = kReady + kTurns;
  static_assert(kMet + kTurns <= 16, "a block has so many barriers");

  int turn;
  bool was_told = false;  // who follows, of a tile before

  // Warp `warp` of the tile: its parts of the tile of step `number`, from `row` on, are left. All warps of the tile come here.
  template <typename Walk, typename Args>
  __device__ __forceinline__ void left(const Args& args, const Walk& walk, int number, int row, int columns, int warp) {
    if (kIsFollowed && !is_last(walk, number)) {
      if (was_told) ptx::named_barrier_wait(kReady + turn, kThreads + kWarpSize);
      ptx::named_barrier_arrive(kLeft + turn, kThreads + kWarpSize);
      was_told = true;
      return;
    }
    if (row >= args.m) return;
    ptx::named_barrier_wait(kMet + turn, kThreads);
    const int tile = row / G::kTileM;
    if (!body::arrive<kWarps>(args, tile, warp, walk.arrivals())) return;
    body::bring_together<Body, kWarps>(args, body::TileRows<G::kTileM>::of(tile, args.m), columns, warp);
  }

  // The warp of the producer's warpgroup that follows the consumer of that turn.
  template <typename Walk, typename Args>
  __device__ __forceinline__ static void follow(const Args& args, const Walk& walk, int columns, int turn) {
    if constexpr (!kIsFollowed) return;
    const int lane = threadIdx.x % kWarpSize;
    bool is_first = true;
#pragma unroll 1
    for (int number = walk.first() + turn * walk.stride(); !is_last(walk, number); number += walk.stride() * kTurns) {
      if constexpr (G::kStreamK) {
        if (walk.hands_on(number)) continue;
      }
      if (!is_first) ptx::named_barrier_arrive(kReady + turn, kThreads + kWarpSize);
      is_first = false;
      ptx::named_barrier_wait(kLeft + turn, kThreads + kWarpSize);
      const int tile = walk.origin(walk.step(number).tile).m / G::kTileM;
      if (tile * G::kTileM >= args.m) continue;
      const bool is_whole = lane < kWarps && body::count<kWarps>(args, tile, lane, walk.arrivals());
      const uint32_t whole_shares = __ballot_sync(~0u, is_whole);
      __syncwarp();  // what a lane has seen is there for all
#pragma unroll 1
      for (int share = 0; share < kWarps; ++share) {
        if ((whole_shares >> share & 1) == 0) continue;
        const auto rows = body::TileRows<G::kTileM>::of(tile, args.m);
        body::bring_together<Body, kWarps, kRegisters>(args, rows, columns, share);
      }
    }
  }

 private:
  // No step of that turn comes behind, or none is there.
  template <typename Walk>
  __device__ __forceinline__ static bool is_last(const Walk& walk, int number) {
    return number + walk.stride() * kTurns >= walk.count();
  }
};

template <typename G, typename Body>
struct RowsOfTiles<G, Body, false> {
  int turn;
  template <typename Walk, typename Args>
  __device__ __forceinline__ void left(const Args&, const Walk&, int, int, int, int) {}
};

// K = 0: a thread leaves a part by itself, and no tile is counted, as a block has all parts of its rows.
template <typename G, typename Body, typename Args, typename LeavePart>
__device__ __forceinline__ void reduce_rows_alone(const Args& args, int columns, const LeavePart& leave_part) {
  static_assert(Body::kPartColumns == (G::kSwapAB ? kWarpRows : G::kColumns), "a part is what a warp holds of a row");
  const int parts = ceil_div(columns, Body::kPartColumns), warp = threadIdx.x / kWarpSize;
  for (int tile = blockIdx.x; tile < ceil_div(args.m, G::kTileM); tile += gridDim.x) {
    const auto rows = body::TileRows<G::kTileM>::of(tile, args.m);
    for (int row = rows.first; row < rows.first + rows.count; ++row) {
      for (int part = threadIdx.x; part < parts; part += G::kThreads) leave_part(row, part);
    }
    __syncthreads();
    if (warp < G::kTileWarps) body::bring_together<Body, G::kTileWarps>(args, rows, columns, warp);
  }
}

}  // namespace autokernel::sm90
