// Stream K: the walk of clusters that share the tiles which would fill a wave only in part.
//
// A persistent grid takes whole waves of tiles; the last one is seldom full. Its tiles, and on request those of the wave
// before it, are laid end to end, k-block after k-block, and this line is cut into equal shares, one a cluster
// ("two-tile" stream-K: Osama et al., "Stream-K: Work-centric Parallel Decomposition", 2023). So a share ends
// inside a tile, and begins inside another. Who ends inside hands his sums on, and who has a tile's last k-block finishes it.
//
// A cluster begins with what it hands on, goes on with its whole tiles and ends with what it finishes: by then what it
// needs has long been handed on, and as that comes from clusters of lower number, which start earlier and wait for nobody
// before, there is no deadlock however few CTAs are resident. `Sharing` in sm90/sharing.rs is the same arithmetic in Rust.
#pragma once

#include "sm90_tiles.cuh"

namespace autokernel::sm90 {

constexpr int kLeastShare = 4;  // k-blocks: less is not worth an exchange of sums

template <typename G, typename Base>
struct ShareWalk : Base {
  int whole_tiles;  // those before the shared ones: full waves
  int share;        // k-blocks of a cluster's share
  int longer;       // so many clusters, the first ones, have one more
  int sharers;      // clusters that have a share
  KBlocks own;      // of the line of all shared tiles

  template <typename Args>
  __device__ ShareWalk(const Args& args, int n, int k) : Base(args, n, k) {
    const int clusters = Base::stride(), tiles = Base::count(), of_tile = this->k_blocks.count;
    const int rest = tiles % clusters;
    int shared_tiles = 0;
    if (args.shared_waves > 0 && rest > 0) shared_tiles = min(tiles, rest + (args.shared_waves - 1) * clusters);
    if (of_tile > INT32_MAX / max(shared_tiles, 1)) shared_tiles = 0;  // a line too long to count
    whole_tiles = tiles - shared_tiles;
    const int line = shared_tiles * of_tile;
    sharers = max(1, min(clusters, line / min(kLeastShare, of_tile)));
    share = line / sharers;
    longer = line % sharers;
    const int first = begin(cluster());
    own = {first, begin(cluster() + 1) - first};
  }

  // Steps of this cluster alone are counted.
  __device__ int first() const { return 0; }
  __device__ int stride() const { return 1; }
  __device__ int count() const { return hands_on() + of_waves() + whole_in_share() + finishes(); }

  // What is handed on, whole tiles, what is finished.
  __device__ Step step(int number) const {
    const int of_tile = this->k_blocks.count, end = own.first + own.count;
    if (hands_on()) {
      if (number == 0) {
        const int inside = min(end % of_tile, own.count);
        return {whole_tiles + end / of_tile, {end % of_tile - inside, inside}};
      }
      --number;
    }
    if (number < of_waves()) return {cluster() + number * Base::stride(), this->k_blocks};
    number -= of_waves();
    if (number < whole_in_share()) return {whole_tiles + ceil_div(own.first, of_tile) + number, this->k_blocks};
    const int before = own.first % of_tile;
    return {whole_tiles + own.first / of_tile, {before, of_tile - before}};
  }

  // Whether the sums of a step go to the cluster that finishes its tile, or what others handed on is added to them.
  __device__ bool hands_on(int number) const { return number == 0 && hands_on(); }
  __device__ bool finishes(int number) const { return finishes() && number == count() - 1; }

  __device__ int cluster() const { return Base::first(); }
  // The first cluster that has a part of the tile that this one finishes. All up to this one have.
  __device__ int first_contributor() const {
    const int tile = own.first - own.first % this->k_blocks.count;
    int other = cluster();
    while (begin(other) > tile) --other;
    return other;
  }

 private:
  // Where the share of a cluster begins; for those behind all that have one, the end of the line.
  __device__ int begin(int cluster) const {
    cluster = min(cluster, sharers);
    return cluster * share + min(cluster, longer);
  }

  __device__ bool hands_on() const { return (own.first + own.count) % this->k_blocks.count != 0; }
  // Whole tiles before the shared ones. Each cluster has as many, but where none are shared and the last wave is filled in part.
  __device__ int of_waves() const { return ceil_div(whole_tiles - cluster(), Base::stride()); }
  // A tile in which the share begins, and which ends in it.
  __device__ bool finishes() const { return own.first % this->k_blocks.count != 0 && tiles_ended() > 0; }
  __device__ int whole_in_share() const {
    return tiles_ended() - (own.first % this->k_blocks.count != 0 && tiles_ended() > 0);
  }
  __device__ int tiles_ended() const {
    return (own.first + own.count) / this->k_blocks.count - own.first / this->k_blocks.count;
  }
};

// The walk of a schedule.
template <typename G, typename Batch, bool kShares = G::kStreamK>
struct WalkOf {
  using Type = Tiles<G, Batch>;
};
template <typename G, typename Batch>
struct WalkOf<G, Batch, true> {
  using Type = ShareWalk<G, Tiles<G, Batch>>;
};
template <typename G, typename Batch>
using Walk = typename WalkOf<G, Batch>::Type;

}  // namespace autokernel::sm90
