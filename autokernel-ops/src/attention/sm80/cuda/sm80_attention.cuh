// Attention forward on every GPU from compute capability 8.0 on, a block a tile: blocks of keys and of values come by cp.async
// while warps multiply those before by mma.sync, with the softmax on the way (FlashAttention-2, Dao 2023).
#pragma once

#include "attention_store.cuh"
#include "attention_tiles.cuh"
#include "sm80_attention_multiplier.cuh"

namespace autokernel::attention::sm80 {

// Queries of one head, of which a band has 64.
template <typename Sequences>
struct Queries : RowsOfHead<Sequences> {
  int count;  // of the band that are there

  struct Row {
    const Queries& of;
    int row;
    template <typename Args>
    __device__ __forceinline__ int64_t in_q(const Args& args) const {
      return RowOf<Sequences>{of.tile.sequence, of.first_query + row, of.tile.head}.in_q(args);
    }
  };
  __device__ __forceinline__ Row at(int row) const { return {*this, row}; }
};

template <typename Problem, typename Sequences, typename Schedule, typename Args>
struct Attention {
  using G = Geometry<Problem, Sequences, Schedule>;
  static constexpr int kThreads = G::kThreads;
  static_assert(Sequences::kAreWhole && !Sequences::kPackedQueries && Sequences::kKeys == Keys::kWhole, "lengths_share_keys");
  static_assert(Shared<G>::kBytes <= Schedule::kSharedBytes, "the launch asks for as much shared memory");

  __device__ __forceinline__ static void run(const Args& args) {
    extern __shared__ uint8_t memory[];
    const Shared<G> shared(memory);
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / kWarpgroupSize, 0);
    const Tile tile = Tiles<G>(args).at(blockIdx.x);
    const auto blocks = blocks_of<G>(tile);
    with_bands<G>(
        [&](int band) {
          const int first = tile.first_query + (warpgroup * G::kBands + band) * kRowsOfWarpgroup;
          const Queries<Sequences> rows{{tile, first}, min(args.queries - first, kRowsOfWarpgroup)};
          return Band<G, Queries<Sequences>>(args, rows, tile.sequence);
        },
        [&](auto& bands) {
          if (blocks.count() != 0) attend<G>(args, shared, warpgroup, bands, tile.sequence, tile.key_head, blocks);
#pragma unroll
          for (auto& band : bands) store_results<G>(args, band.rows, band.softmax, band.sums);
        });
  }
};

}  // namespace autokernel::attention::sm80
