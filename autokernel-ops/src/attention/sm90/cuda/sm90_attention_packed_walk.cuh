// How blocks walk over the tiles of sequences of which the device alone knows how long they are, and so how many tiles there are.
#pragma once

#include "attention_scan.cuh"
#include "sm90_attention_walk.cuh"

namespace autokernel::attention {

// The tiles of such sequences: those of the first sequence, then those of the next. Of a whole warp, which asks for larger numbers from
// time to time: what lies before the sequences that it looks at it has left behind.
template <typename G>
struct PackedTiles {
  using Sequences = typename G::Sequences;

  Window window;
  int64_t before = 0;  // tiles of sequences before the window

  template <typename Args>
  __device__ __forceinline__ explicit PackedTiles(const Args& args) : window(window_at(args, 0)) {}

  // Whether there is a tile with that number.
  template <typename Args>
  __device__ __forceinline__ bool find(const Args& args, uint32_t number, Tile& tile) {
    int64_t rest = number - before;
    if (rest < 0) return false;  // bounds that are nonsense have so many tiles that their numbers begin anew
    int found;
#pragma unroll 1
    while ((found = window.find(rest)) == Window::kNone) {
      if (window.behind() >= args.batch) return false;
      const int64_t passed = window.all();
      before += passed;
      rest -= passed;
      window = window_at(args, window.behind());
    }
    tile = tiles_of(args, found).at(static_cast<uint32_t>(rest));
    return true;
  }

 private:
  template <typename Args>
  __device__ __forceinline__ static Tiles<G> tiles_of(const Args& args, int number) {
    return Tiles<G>(args, located<Sequences>(args, number), 1);
  }
  template <typename Args>
  __device__ __forceinline__ static Window window_at(const Args& args, int first) {
    return Window(first, args.batch, [&](int number) { return tiles_of(args, number).count; });
  }
};

// The producer's warp finds tiles, and consumers are told all that they need of one.
template <typename G>
struct Walk<G, false> {
  static constexpr int kLeaders = kWarpSize;
  static constexpr int kNoSequence = -1;
  static constexpr bool kAllLoad = G::Sequences::kKeys == Keys::kPaged;  // lanes of the producer, and not its first alone

  Slots<G> slots;

  __device__ __forceinline__ explicit Walk(const Shared<G>& shared) : slots(shared) {}

  // The producer: its first lane, or all of them, call `load(tile, blocks of keys)` for each tile.
  template <typename Args, typename Load>
  __device__ __forceinline__ void lead(const Args& args, Load load) {
    Counters* const counters = Counters::of(args);
    const bool is_first = threadIdx.x == 0;
    PackedTiles<G> tiles(args);
    Tile tile{};
    uint32_t number = blockIdx.x;
#pragma unroll 1
    while (tiles.find(args, number, tile)) {
      if (is_first) {
        tell(tile);
        number = counters->draw();  // on its way while this tile is loaded
      }
      if (kAllLoad || is_first) load(tile, blocks_of<G>(tile));
      number = __shfl_sync(kAllLanes, number, 0);
    }
    if (is_first) {
      tile.sequence.number = kNoSequence;
      tell(tile);
      counters->finish();
    }
  }

  // Consumers: calls `compute(tile, blocks of keys)` for each tile, which has no place among the keys of all.
  template <typename Args, typename Compute>
  __device__ __forceinline__ void follow(const Args&, Compute compute) {
#pragma unroll 1
    for (Tile tile = hear(); tile.sequence.number != kNoSequence; tile = hear()) compute(tile, blocks_of<G>(tile));
  }

 private:
  __device__ __forceinline__ void tell(const Tile& tile) {
    const Sequence& of = tile.sequence;
    slots.tell([&](uint32_t slot) {
      store_shared(slot, int4{of.number, of.first_query, of.queries, of.keys});
      store_shared(slot + 16, int4{tile.head, tile.first_query, 0, 0});
    });
  }

  __device__ __forceinline__ Tile hear() {
    int4 sequence, tile;
    slots.hear([&](uint32_t slot) {
      sequence = load_shared(slot);
      tile = load_shared(slot + 16);
      __syncwarp();
    });
    return {Sequence{sequence.x, sequence.y, sequence.z, 0, sequence.w}, tile.x, 0, tile.y};
  }
};

}  // namespace autokernel::attention
