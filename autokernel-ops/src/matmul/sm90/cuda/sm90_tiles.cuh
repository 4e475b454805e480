// Which output tiles a CTA computes: a persistent walk that every warpgroup of the CTA repeats for itself.
#pragma once

#include "batch.cuh"
#include "ptx/sm90.cuh"
#include "ptx/sm90_l2_policy.cuh"
#include "raster.cuh"
#include "sm90_schedule.cuh"

namespace autokernel::sm90 {

// The k-blocks that a CTA multiplies: all of them, or its share of a split K.
struct KBlocks {
  int first;
  int count;
};

// At least one block each, so that nothing else need clear accumulators: beyond the last block there are zeros to load.
template <typename G>
__device__ __forceinline__ KBlocks k_blocks_of(int k, int split_k) {
  const int blocks = ceil_div(k, G::kTileK);
  if (!G::kSplits || split_k == 1) return {0, blocks};
  const int rank = ptx::cluster_rank();
  const int first = static_cast<int>(int64_t{blocks} * rank / split_k);
  const int end = static_cast<int>(int64_t{blocks} * (rank + 1) / split_k);
  return end > first ? KBlocks{first, end - first} : KBlocks{blocks, 1};
}

// CTAs that share the sum of a tile.
template <typename G, typename Args>
__device__ __forceinline__ int split_k_of(const Args& args) {
  if constexpr (G::kSplits) {
    return args.split_k;
  } else {
    return 1;
  }
}

// What a CTA does at one step of its walk: of a tile's sum over K these blocks.
struct Step {
  int tile;
  KBlocks k_blocks;
};

// C as ordinary stores see it.
template <typename Output>
struct OutputView {
  Output* data;
  int64_t ld;
  int rows;
  int columns;
};

// The matrix of a tensor map of two dimensions.
struct OnlyMatrix {
  __device__ __forceinline__ static void load(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                              int outer) {
    ptx::tma_load(map, destination, barrier, inner, outer);
  }
  __device__ __forceinline__ static void load_multicast(const TensorMap& map, uint32_t destination, uint32_t barrier,
                                                        int inner, int outer, uint16_t cta_mask) {
    ptx::tma_load_multicast(map, destination, barrier, inner, outer, cta_mask);
  }
  __device__ __forceinline__ static void store(const TensorMap& map, uint32_t source, int inner, int outer) {
    ptx::tma_store(map, source, inner, outer);
  }
};

// The same of a second factor. A box that one cluster alone reads leaves L2 before what is read again: among weights that pass by, operands,
// tables and code of the launches behind stay there.
struct WeightsMatrix : OnlyMatrix {
  bool is_read_once;

  __device__ __forceinline__ void load(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                       int outer) const {
    const auto policy = is_read_once ? ptx::L2Policy::kEvictFirst : ptx::L2Policy::kEvictNormal;
    ptx::tma_load(map, destination, barrier, inner, outer, policy);
  }
};

// Clusters, not tiles, are rastered: the CTAs of a cluster take neighbouring tiles, which share an operand.
// Tiles of a cluster that lie outside the output load zeros and store nothing.
template <typename G>
struct TileWalk {
  // Where a tile begins, and in which matrix of each tensor map.
  struct Place : TileCoord {
    bool is_one_row;  // of tiles: no other one reads the same of B

    __device__ __forceinline__ static OnlyMatrix a() { return {}; }
    __device__ __forceinline__ auto b() const {
      if constexpr (G::kSwapAB) {  // of few rows
        return WeightsMatrix{{}, is_one_row};
      } else {
        return OnlyMatrix{};
      }
    }
    __device__ __forceinline__ auto b2() const { return b(); }
    __device__ __forceinline__ static OnlyMatrix c() { return {}; }
  };
  using MatrixOfC = OnlyMatrix;

  int clusters_m;
  int clusters_n;
  Raster raster;
  int m_in_cluster;
  int n_in_cluster;
  int split_k;
  KBlocks k_blocks;  // of every tile

  template <typename Args>
  __device__ TileWalk(const Args& args, int n, int k)
      : clusters_m(ceil_div(args.m, G::kTileM * G::kClusterM)),
        clusters_n(ceil_div(n, G::kColumns * G::kClusterN)),
        raster(raster_of(args)),
        split_k(split_k_of<G>(args)) {
    const int rank = G::kClusterSize > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
    m_in_cluster = rank % G::kClusterM;
    n_in_cluster = rank / G::kClusterM;
    k_blocks = k_blocks_of<G>(k, split_k);
  }

  // Steps are numbered as their tiles are.
  __device__ int first() const { return blockIdx.x / (G::kClusterSize * (G::kSplits ? split_k : 1)); }
  // With a split K one tile a cluster: the ring ends as the mailbox of the partial sums.
  __device__ bool is_split() const { return G::kSplits && split_k > 1; }
  __device__ int stride() const { return is_split() ? count() : gridDim.x / G::kClusterSize; }
  __device__ int count() const { return clusters_m * clusters_n; }
  __device__ Step step(int number) const { return {number, k_blocks}; }
  // How often the rows of a tile are counted: once by each CTA that has one of them, and has all or some of its columns.
  __device__ int arrivals() const { return clusters_n * G::kClusterN * (G::kSplits ? split_k : 1); }

  // Behind the last row that the tiles of a place's product have.
  template <typename Args>
  __device__ __forceinline__ static int end_of_rows(const Args& args, const TileCoord&) {
    return args.m;
  }

  // First row and column of this CTA's tile in cluster number `linear`.
  __device__ Place origin(int linear) const {
    const TileCoord cluster = tile_coord(linear, clusters_m, clusters_n, raster);
    return {{(cluster.m * G::kClusterM + m_in_cluster) * G::kTileM,
             (cluster.n * G::kClusterN + n_in_cluster) * G::kColumns},
            clusters_m == 1};
  }
};

// The walk over whole tiles: of one product, or where headers of batches say how, of many.
template <typename G, typename Batch, batch::Many kMany = Batch::kMany>
struct TilesOf;
template <typename G, typename Batch>
struct TilesOf<G, Batch, batch::Many::kNone> {
  using Type = TileWalk<G>;
};
template <typename G, typename Batch>
using Tiles = typename TilesOf<G, Batch>::Type;

}  // namespace autokernel::sm90
