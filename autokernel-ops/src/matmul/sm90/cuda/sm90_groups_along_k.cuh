// Groups along K: a batch of products of one size, each of which sums some rows of its factors, from any row on.
//
// Boxes of TMA are whole, so that one of a stage holds rows that are not the group's wherever the group's are no multiple of kTileK.
// That stage is the first of a tile, and the consumers clear those rows in both factors before they multiply it: whatever lies there,
// a NaN too, then counts as nothing. A group of no rows has such a stage alone, of zeros.
#pragma once

#include "groups_along_k.cuh"
#include "sm90_batch.cuh"

namespace autokernel::sm90 {

// The stages of a tile: `blocks` of them, at least one, of the first of which `rows` belong to the group.
struct GroupStages {
  int blocks;
  int rows;

  __device__ __forceinline__ operator int() const { return blocks; }
};

// As KBlocks, from any row on.
struct GroupKBlocks {
  int first;  // row
  GroupStages count;
};

struct GroupStep {
  int tile;
  GroupKBlocks k_blocks;
};

template <typename G, typename Batch>
struct WalkAlongK : BatchWalk<G, Batch> {
  using Base = BatchWalk<G, Batch>;
  static_assert(!G::kPingPong && !G::kSplits && !G::kStreamK, "groups_along_k_have_whole_tiles");
  static_assert(G::kAMajorM && G::kBMajorN, "rows of groups are rows of both factors");

  mutable groups::DepthCursor cursor;  // where this thread's walk is

  template <typename Args>
  __device__ WalkAlongK(const Args& args, int n, int k) : Base(args, n, k), cursor(Batch::offsets(args), k) {}

  __device__ GroupStep step(int number) const {
    const groups::Depth depth = cursor.seek(number / TileWalk<G>::count());
    const int blocks = max(1, ceil_div(depth.count, G::kTileK));
    return {number, {depth.first, {blocks, depth.count - (blocks - 1) * G::kTileK}}};
  }
};

template <typename G, typename Batch>
struct TilesOf<G, groups::AlongK<Batch>, batch::Many::kBatch> {
  using Type = WalkAlongK<G, groups::AlongK<Batch>>;
};

// What Matmul calls for the producer; more special than the one for products that sum all of K.
template <typename G, typename Args, typename Batch>
__device__ __forceinline__ void produce(const Args& args, const SharedLayout<G>& shared, const WalkAlongK<G, Batch>& walk) {
  RingCursor<G::kStages> cursor;
  for (int number = walk.first(); number < walk.count(); number += walk.stride()) {
    const auto [tile, k_blocks] = walk.step(number);
    const auto origin = walk.origin(tile);
    int k = k_blocks.first;
#pragma unroll 1
    for (int block = 0; block < k_blocks.count; ++block) {
      acquire_stage(shared, cursor);
      const uint32_t full = shared.full(cursor.stage);
      load_a<G>(args.a_map, origin.a(), shared.a(cursor.stage), full, origin.m, k, walk.n_in_cluster);
      load_second_factors<G>(args, shared, origin, walk, cursor.stage, k);
      k += block == 0 ? k_blocks.count.rows : G::kTileK;
      cursor.advance();
    }
  }
}

// Clears the rows of a stage from `rows` on. All consumers come here, and each clears a part.
template <typename G>
__device__ __forceinline__ void clear_rows(const SharedLayout<G>& shared, int stage, int rows) {
  constexpr int kThreads = G::kConsumers * kWarpgroupSize;
  constexpr int kPanels = G::kStageBytes / kPanelBytes;  // of both factors, one behind the other
  constexpr int kClearBarrier = Turns::kFirstBarrier;    // nobody takes turns
  static_assert(G::kTileK * kSwizzleBytes == kPanelBytes, "a panel is as deep as a stage");
  const int consumer_thread = threadIdx.x - kWarpgroupSize;
#pragma unroll 1
  for (int panel = 0; panel < kPanels; ++panel) {
    const uint32_t begin = shared.a(stage) + panel * kPanelBytes;
#pragma unroll 1
    for (int byte = rows * kSwizzleBytes + consumer_thread * kTmaUnitBytes; byte < kPanelBytes; byte += kThreads * kTmaUnitBytes) {
      ptx::store_shared(begin + byte, 0.0f, 0.0f);
      ptx::store_shared(begin + byte + kTmaUnitBytes / 2, 0.0f, 0.0f);
    }
  }
  ptx::fence_async_proxy();  // by each thread, for what it cleared: wgmma reads it
  ptx::named_barrier_wait(kClearBarrier, kThreads);
}

// What Matmul calls for a tile of a group.
template <typename G, typename Issued>
__device__ __forceinline__ void multiply_tile(Accumulators<G>& acc, const SharedLayout<G>& shared,
                                              RingCursor<G::kStages>& cursor, GroupStages stages, int first,
                                              const Issued& issued) {
  if (stages.rows < G::kTileK) {
    wait_for_stage(shared, cursor);
    clear_rows(shared, cursor.stage, stages.rows);
  }
  multiply_tile<G>(acc, shared, cursor, stages.blocks, first, issued);
}

}  // namespace autokernel::sm90
