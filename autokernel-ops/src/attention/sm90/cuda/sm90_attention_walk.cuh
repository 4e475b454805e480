// How blocks walk over the tiles of queries.
#pragma once

#include "attention_tiles.cuh"
#include "ptx/atomic.cuh"
#include "sm90_attention_geometry.cuh"

namespace autokernel::attention {

// Blocks stay for the whole launch and take the next tile when they are done with one: the first by their own number, further
// ones from a counter in global memory, for which the producer asks. It tells the consumers through slots in shared memory.

// The counter, and how many blocks need it no more; the last of them leaves zeros behind.
struct Counters {
  uint32_t next;
  uint32_t finished;

  template <typename Args>
  __device__ __forceinline__ static Counters* of(const Args& args) {
    return static_cast<Counters*>(args.counters);
  }
  __device__ __forceinline__ uint32_t draw() { return gridDim.x + ptx::fetch_add_relaxed(&next, 1); }
  __device__ __forceinline__ void finish() {
    if (ptx::fetch_add_ordered(&finished, 1) == gridDim.x - 1) *this = {0, 0};
  }
};

// What the producer tells through the slots, in order. Each side has one of its own.
template <typename G>
struct Slots {
  Shared<G> shared;
  Cursor<kSlots> cursor;

  __device__ __forceinline__ explicit Slots(const Shared<G>& shared) : shared(shared) {}

  // By one thread: calls `store(address)` for the next slot.
  template <typename Store>
  __device__ __forceinline__ void tell(Store store) {
    const Barriers barriers = shared.slot_barriers();
    ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);
    store(shared.slot(cursor.stage));
    ptx::mbarrier_arrive(barriers.full(cursor.stage));
    cursor.advance();
  }

  // By each warp of the consumers: `load(address)` reads a slot, which the first lane releases then.
  template <typename Load>
  __device__ __forceinline__ void hear(Load load) {
    const Barriers barriers = shared.slot_barriers();
    ptx::mbarrier_wait(barriers.full(cursor.stage), cursor.parity);
    load(shared.slot(cursor.stage));
    release(barriers.empty(cursor.stage));
    cursor.advance();
  }
};

// Where the tensors say how long sequences are: a number tells the tile, to the producer and to consumers.
template <typename G, bool = G::Sequences::kAreWhole>
struct Walk {
  static constexpr int kLeaders = 1;  // threads of the producer

  Slots<G> slots;

  __device__ __forceinline__ explicit Walk(const Shared<G>& shared) : slots(shared) {}

  // The producer: calls `load(tile, blocks of keys)` for each tile.
  template <typename Args, typename Load>
  __device__ __forceinline__ void lead(const Args& args, Load load) {
    Counters* const counters = Counters::of(args);
    uint32_t next;
    for_each_tile(
        args,
        [&](const Tile& tile, const auto& blocks) {
          next = counters->draw();  // on its way while this tile is loaded
          load(tile, blocks);
          slots.tell([&](uint32_t slot) { ptx::store_shared(slot, __uint_as_float(next)); });
        },
        [&] { return next; });
    counters->finish();
  }

  // Consumers: calls `compute(tile, blocks of keys)` for each tile.
  template <typename Args, typename Compute>
  __device__ __forceinline__ void follow(const Args& args, Compute compute) {
    for_each_tile(args, compute, [&] {
      uint32_t number = 0;
      slots.hear([&](uint32_t slot) {
        if (threadIdx.x % kWarpSize == 0) ptx::load_shared(slot, number);
      });
      return __shfl_sync(0xffffffffu, number, 0);
    });
  }

 private:
  // Calls `use(tile, blocks of keys)` for each tile that `next(tile number)` leads to, beginning with the block's own.
  template <typename Args, typename Use, typename Next>
  __device__ __forceinline__ static void for_each_tile(const Args& args, Use use, Next next) {
    const Tiles<G> tiles(args);
    for (uint32_t number = blockIdx.x; number < tiles.count; number = next()) {
      const Tile tile = tiles.at(number);
      use(tile, blocks_of<G>(tile));
    }
  }
};

}  // namespace autokernel::attention
