// The order in which tiles of queries are computed.
#pragma once

#include "types.cuh"
#include "attention_keys.cuh"

namespace autokernel::attention {

// A tile: some queries of one head of one batch.
struct Tile {
  int batch;
  int head;
  int key_head;
  int first_query;
};

// Heads are taken in sections whose keys and values stay in L2 together. Inside one, where no query sees what is behind it,
// the longest tiles of all heads come first, so that the short ones fill the end; else a head's tiles follow one another.
template <typename G>
struct Tiles {
  static constexpr uint32_t kL2Bytes = 32 << 20;

  uint32_t heads;
  uint32_t sharing;  // heads that share keys and values
  uint32_t parts;    // tiles of a head
  uint32_t all_heads;
  uint32_t section;
  uint32_t count;

  template <typename Args>
  __device__ __forceinline__ explicit Tiles(const Args& args)
      : heads(args.heads),
        sharing(args.heads / args.groups),
        parts(ceil_div(args.queries, G::kTileQueries)),
        all_heads(args.batch * args.heads),
        count(parts * all_heads) {
    constexpr uint32_t kKeysInL2 = kL2Bytes / ((G::kHeadDim + G::kValueDim) * sizeof(typename G::Input));
    section = min(max(kKeysInL2 / max(args.keys, 1), 1u) * sharing, all_heads);
  }

  __device__ __forceinline__ Tile at(uint32_t number) const {
    uint32_t part, head;
    if constexpr (G::Problem::kCausal) {
      const uint32_t first = number / (section * parts) * section;
      const uint32_t within = number % (section * parts);
      const uint32_t heads_here = min(section, all_heads - first);
      part = parts - 1 - within / heads_here;
      head = first + within % heads_here;
    } else {
      part = number % parts;
      head = number / parts;
    }
    const uint32_t of_batch = head % heads;
    return {int(head / heads), int(of_batch), int(of_batch / sharing), int(part) * G::kTileQueries};
  }
};

}  // namespace autokernel::attention
