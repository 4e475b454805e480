// How the producer brings the queries of a tile.
#pragma once

#include "attention_tiles.cuh"
#include "ptx/sm90_tma_3d.cuh"
#include "ptx/sm90_tma_4d.cuh"
#include "sm90_attention_geometry.cuh"

namespace autokernel::attention {

// By one thread: the queries of each consumer as soon as it has read those before.
template <typename G>
struct QueryCopies {
  // Finding tiles takes the registers that addresses of several consumers would.
  static constexpr int kUnrolled = G::Sequences::kAreWhole ? G::kConsumers : 1;

  Shared<G> shared;
  uint32_t parity = 0;

  __device__ __forceinline__ explicit QueryCopies(const Shared<G>& shared) : shared(shared) {}

  template <typename Args>
  __device__ __forceinline__ void load(const Args& args, const Tile& tile) {
    const Barriers barriers = shared.query_barriers();
#pragma unroll(kUnrolled)
    for (int consumer = 0; consumer < G::kConsumers; ++consumer) {
      ptx::mbarrier_wait(barriers.empty(consumer), parity ^ 1);
      ptx::mbarrier_arrive_expect_bytes(barriers.full(consumer), G::kQueryBytes);
      const int row = tile.first_query + consumer * kRowsOfWarpgroup;
#pragma unroll
      for (int panel = 0; panel < G::kHeadPanels; ++panel) {
        copy(args.q_map, shared.queries(consumer) + panel * G::kQueryPanelBytes, barriers.full(consumer), panel,
             tile.sequence.first_query + row, tile);
      }
    }
    parity ^= 1;
  }

 private:
  // Rows of packed queries that lie behind a sequence's last are those of the next.
  __device__ __forceinline__ static void copy(const TensorMap& map, uint32_t to, uint32_t full, int panel, int row, const Tile& tile) {
    if constexpr (G::Sequences::kPackedQueries) {
      ptx::tma_load_3d(map, to, full, panel * kPanel, row, tile.head);
    } else {
      ptx::tma_load_4d(map, to, full, panel * kPanel, row, tile.head, tile.sequence.number);
    }
  }
};

}  // namespace autokernel::attention
