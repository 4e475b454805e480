// The producer: one thread that keeps the ring of stages full by TMA, tile after tile. What comes otherwise has headers of its own.
#pragma once

#include "sm90_pipeline.cuh"
#include "sm90_shares.cuh"

namespace autokernel::sm90 {

// Whether all threads of the producing warpgroup copy A, which has no tensor map then.
template <typename G>
constexpr bool kThreadsCopyA = false;

// 128 bytes a row or column of the tile, however a factor lies. One box for this CTA, or for the whole cluster when the operand is shared.
template <bool kShared, typename G, typename Matrix>
__device__ __forceinline__ void load_box(const TensorMap& map, Matrix matrix, uint32_t destination, uint32_t barrier,
                                         int inner, int outer) {
  if constexpr (kShared) {
    // Multicast: each CTA loads a slice and all receive it, which divides the traffic from L2.
    constexpr uint16_t kWholeCluster = (1 << G::kClusterSize) - 1;
    matrix.load_multicast(map, destination, barrier, inner, outer, kWholeCluster);
  } else {
    matrix.load(map, destination, barrier, inner, outer);
  }
}

// `kExtent` rows or columns of C from `first` on, of K what a stage holds: as one box along K, or panel by panel across it.
template <bool kMajorMN, int kExtent, bool kShared, typename G, typename Matrix>
__device__ __forceinline__ void load_slice(const TensorMap& map, Matrix matrix, uint32_t destination, uint32_t barrier,
                                           int first, int k) {
  if constexpr (kMajorMN) {
#pragma unroll
    for (int panel = 0; panel < kExtent / kPanel; ++panel) {
      load_box<kShared, G>(map, matrix, destination + panel * kPanelBytes, barrier, first + panel * kPanel, k);
    }
  } else {
    load_box<kShared, G>(map, matrix, destination, barrier, k, first);
  }
}

// CTAs side by side along N share A; each loads one of kClusterN slices of its rows.
template <typename G, typename Matrix>
__device__ __forceinline__ void load_a(const TensorMap& map, Matrix matrix, uint32_t destination, uint32_t barrier,
                                       int row, int k, int slice) {
  const int first = slice * G::kASliceRows;
  destination += first * kSwizzleBytes;
  load_slice<G::kAMajorM, G::kASliceRows, (G::kClusterN > 1), G>(map, matrix, destination, barrier, row + first, k);
}

// CTAs side by side along M share B; each loads one of kClusterM slices of a product's columns.
template <typename G, typename Matrix>
__device__ __forceinline__ void load_b(const TensorMap& map, Matrix matrix, uint32_t destination, uint32_t barrier,
                                       int column, int k, int slice) {
  const int first = slice * G::kBSliceColumns;
  destination += first * kSwizzleBytes;
  load_slice<G::kBMajorN, G::kBSliceColumns, (G::kClusterM > 1), G>(map, matrix, destination, barrier, column + first, k);
}

// B of each product, into a stage that expects it.
template <typename G, typename Args, typename Origin, typename Walk>
__device__ __forceinline__ void load_second_factors(const Args& args, const SharedLayout<G>& shared, const Origin& origin,
                                                    const Walk& walk, int stage, int k) {
  const uint32_t full = shared.full(stage);
  load_b<G>(args.b_map, origin.b(), shared.b(stage), full, origin.n, k, walk.m_in_cluster);
  if constexpr (G::kProducts == 2) {
    load_b<G>(args.b2_map, origin.b2(), shared.second_b(stage), full, origin.n, k, walk.m_in_cluster);
  }
}

template <typename G, typename Args, typename Walk>
__device__ __forceinline__ void produce(const Args& args, const SharedLayout<G>& shared, const Walk& walk) {
  RingCursor<G::kStages> cursor;
  for (int number = walk.first(); number < walk.count(); number += walk.stride()) {
    const auto [tile, k_blocks] = walk.step(number);
    const auto origin = walk.origin(tile);
#pragma unroll 1  // the producer has few registers, and a known K tempts the compiler
    for (int block = k_blocks.first; block < k_blocks.first + k_blocks.count; ++block) {
      acquire_stage(shared, cursor);  // announces whole boxes: what lies out of bounds counts as delivered too
      const uint32_t full = shared.full(cursor.stage);
      const int k = block * G::kTileK;
      load_a<G>(args.a_map, origin.a(), shared.a(cursor.stage), full, origin.m, k, walk.n_in_cluster);
      load_second_factors<G>(args, shared, origin, walk, cursor.stage, k);
      cursor.advance();
    }
  }
}

}  // namespace autokernel::sm90
