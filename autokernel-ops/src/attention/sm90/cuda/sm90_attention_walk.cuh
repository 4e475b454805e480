// How blocks walk over the tiles of queries.
#pragma once

#include "attention_tiles.cuh"

namespace autokernel::attention {

// Blocks stay for the whole launch and take the next tile when they are done with one: the first by their own number, further
// ones from a counter in global memory, for which the producer asks. It tells the consumers through slots in shared memory.

// The counter, and how many blocks need it no more; the last of them leaves zeros behind.
struct Counters {
  uint32_t next;
  uint32_t finished;
};

// Calls `compute(tile, blocks of keys)` for each tile that `next(tile number)` leads to, beginning with the block's own.
template <typename G, typename Args, typename Compute, typename Next>
__device__ __forceinline__ void for_each_tile(const Args& args, Compute compute, Next next) {
  const Tiles<G> tiles(args);
  const KeysOf<typename G::Problem> keys(args.queries, args.keys);
  for (uint32_t number = blockIdx.x; number < tiles.count; number = next()) {
    const Tile tile = tiles.at(number);
    const int last_query = min(tile.first_query + G::kTileQueries, args.queries) - 1;
    compute(tile, KeyBlocks<typename G::Problem, G::kTileKeys>(keys, tile.first_query, last_query));
  }
}

}  // namespace autokernel::attention
