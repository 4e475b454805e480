// The order in which tiles of queries are computed.
#pragma once

#include "attention_keys.cuh"
#include "attention_sequences.cuh"

namespace autokernel::attention {

// A tile: some queries of one head of one sequence.
struct Tile {
  Sequence sequence;
  int head;
  int key_head;
  int first_query;  // of the sequence
};

// The keys that the queries of a tile see.
template <typename G>
__device__ __forceinline__ KeysOf<typename G::Problem> keys_of(const Tile& tile) {
  return {tile.sequence.queries, tile.sequence.keys};
}
template <typename G>
__device__ __forceinline__ KeyBlocks<typename G::Problem, G::kTileKeys> blocks_of(const Tile& tile) {
  const int last_query = min(tile.first_query + G::kTileQueries, tile.sequence.queries) - 1;
  return {keys_of<G>(tile), tile.first_query, last_query};
}

// The tiles of sequences that are all alike. Heads are taken in sections whose keys and values stay in L2 together. Inside one, where no
// query sees what is behind it, the longest tiles of all heads come first, so that the short ones fill the end; else a head's tiles
// follow one another.
template <typename G>
struct Tiles {
  static constexpr uint32_t kL2Bytes = 32 << 20;

  Sequence first;    // of the sequences
  uint32_t heads;
  uint32_t sharing;  // heads that share keys and values
  uint32_t parts;    // tiles of a head
  uint32_t all_heads;
  uint32_t section;
  uint32_t count;

  template <typename Args>
  __device__ __forceinline__ Tiles(const Args& args, const Sequence& first, int sequences)
      : first(first),
        heads(args.heads),
        sharing(args.heads / args.groups),
        parts(ceil_div(first.queries, G::kTileQueries)),
        all_heads(sequences * args.heads),
        count(parts * all_heads) {
    constexpr uint32_t kKeysInL2 = kL2Bytes / ((G::kHeadDim + G::kValueDim) * sizeof(typename G::Input));
    section = min(max(kKeysInL2 / max(first.keys, 1), 1u) * sharing, all_heads);
  }
  // Those of a batch whose sequences are whole.
  template <typename Args>
  __device__ __forceinline__ explicit Tiles(const Args& args)
      : Tiles(args, sequence_at<typename G::Sequences>(args, 0), args.batch) {
    static_assert(G::Sequences::kAreWhole, "the tensors say how long sequences are");
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
    const uint32_t of_sequence = head % heads;
    Sequence sequence = first;
    sequence.number += head / heads;
    return {sequence, int(of_sequence), int(of_sequence / sharing), int(part) * G::kTileQueries};
  }
};

}  // namespace autokernel::attention
