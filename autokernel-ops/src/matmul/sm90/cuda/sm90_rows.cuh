// Rows of C that a body reduces, on Hopper: the warps of a tile that leave parts of them, and bring together what is whole.
//
// A tile is counted while the last wgmmas of the next one run: by then its parts have reached L2, and nobody waits for that.
#pragma once

#include "body_statistics.cuh"
#include "sm90_pipeline.cuh"
#include "sm90_tiles.cuh"

namespace autokernel::sm90 {

template <typename G, typename Body, bool kReduces = (body::kStatistics<Body> > 0)>
struct RowsOfTiles {
  static constexpr int kWarps = G::kTileWarps;
  static constexpr int kFirstBarrier = Turns::kFirstBarrier + 2;  // behind those of turns

  int warp;     // of those of a tile
  int barrier;  // where they meet
  int before = -1;  // the tile before along M, whose parts are left and which is not counted yet
  bool is_last = false;

  __device__ __forceinline__ RowsOfTiles(int warp, int turn) : warp(warp), barrier(kFirstBarrier + turn) {}

  // Parts of a tile from `row` on are left.
  __device__ __forceinline__ void left(int row) { before = row / G::kTileM; }

  // Counts the tile before, if its rows are some of C. All warps of the tile come here.
  template <typename Walk, typename Args>
  __device__ __forceinline__ void count(const Args& args, const Walk& walk) {
    is_last = false;
    if (before < 0 || before * G::kTileM >= args.m) return;
    ptx::named_barrier_wait(barrier, kWarps * kWarpSize);
    is_last = body::arrive<kWarps>(args, before, warp, walk.arrivals());
  }

  // Brings together what it was the last part of.
  template <typename Args>
  __device__ __forceinline__ void finish(const Args& args, int columns) const {
    if (!is_last) return;
    body::bring_together<Body, kWarps>(args, body::TileRows::of<G::kTileM>(before, args.m), columns, warp);
  }
};

template <typename G, typename Body>
struct RowsOfTiles<G, Body, false> {
  __device__ __forceinline__ RowsOfTiles(int, int) {}
  __device__ __forceinline__ void left(int) {}
  template <typename Walk, typename Args>
  __device__ __forceinline__ void count(const Args&, const Walk&) {}
  template <typename Args>
  __device__ __forceinline__ void finish(const Args&, int) const {}
};

// K = 0: a thread leaves a part by itself, and no tile is counted, as a block has all parts of its rows.
template <typename G, typename Body, typename Args, typename LeavePart>
__device__ __forceinline__ void reduce_rows_alone(const Args& args, int columns, const LeavePart& leave_part) {
  static_assert(Body::kPartColumns == (G::kSwapAB ? kWarpRows : G::kColumns), "a part is what a warp holds of a row");
  const int parts = ceil_div(columns, Body::kPartColumns), warp = threadIdx.x / kWarpSize;
  for (int tile = blockIdx.x; tile < ceil_div(args.m, G::kTileM); tile += gridDim.x) {
    const auto rows = body::TileRows::of<G::kTileM>(tile, args.m);
    for (int row = rows.first; row < rows.first + rows.count; ++row) {
      for (int part = threadIdx.x; part < parts; part += G::kThreads) leave_part(row, part);
    }
    __syncthreads();
    if (warp < G::kTileWarps) body::bring_together<Body, G::kTileWarps>(args, rows, columns, warp);
  }
}

}  // namespace autokernel::sm90
