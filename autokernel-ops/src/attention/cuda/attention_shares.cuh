// How the blocks of a grid share the keys of all tiles.
//
// A tile is some rows of one group of heads: queries, each with all heads that share keys side by side. The blocks of keys that
// tiles see are laid end to end, tile after tile, and this line is cut into equal shares, one for each block of the grid
// ("stream-K": Osama et al. 2023; for attention FlashInfer, Ye et al. 2024). So a share begins inside a tile and ends inside
// another, and every block reads as many keys as the others, however long sequences are. How long the device alone knows:
// each warp counts the line for itself.
#pragma once

#include "attention_keys.cuh"
#include "attention_scan.cuh"
#include "attention_sequences.cuh"

namespace autokernel::attention {

// The blocks of the grid that compute pieces of a tile: so many, one after the other.
struct Owners {
  int first;
  int count;
};

// A part of a tile that one block of the grid computes.
template <typename Blocks>
struct Piece {
  Sequence sequence;
  int group;
  int first_row;   // of the tile
  Blocks blocks;   // of keys: those of the piece
  int before;      // blocks of the tile that lie before the piece
  int tile_blocks; // of the whole tile
  int from;        // blocks of the share that lie before the piece
};

// The sequences of a batch, as memory says: that of a lane's own number, and one that is the same for all lanes.
template <typename Sequences>
struct Known {
  template <typename Args>
  __device__ __forceinline__ Sequence own(const Args& args, int number) const {
    return located<Sequences>(args, number);
  }
  template <typename Args>
  __device__ __forceinline__ Sequence any(const Args& args, int number) const {
    return located<Sequences>(args, number);
  }
};

// The same as a guess, of batches that have a few sequences for each lane at most. Each is read once, as it may change between two reads,
// and what follows from it must fit together.
template <typename Sequences>
struct Guessed {
  static constexpr int kOfLane = 4;

  Sequence read[kOfLane] = {};  // every 32nd from a lane's own on
  bool serves;                  // else nothing is guessed

  template <typename Args>
  __device__ __forceinline__ explicit Guessed(const Args& args) : serves(args.batch <= kOfLane * kWarpSize) {
    if (!serves) return;
    for_each_own(args, [&](int i, int number) { read[i] = located<Sequences>(args, number, AsGuess()); });
  }

  template <typename Args>
  __device__ __forceinline__ Sequence own(const Args&, int number) const {
    return nth(number / kWarpSize);
  }
  template <typename Args>
  __device__ __forceinline__ Sequence any(const Args&, int number) const {
    const Sequence at = nth(number / kWarpSize);
    const auto of = [&](int own) { return __shfl_sync(kAllLanes, own, number % kWarpSize); };
    return {number, of(at.first_query), of(at.queries), of(at.first_key), of(at.keys)};
  }

  // Whether memory says the same now. Of a whole warp.
  template <typename Args>
  __device__ __forceinline__ bool holds(const Args& args) const {
    if (!serves) return false;
    bool same = true;
    for_each_own(args, [&](int i, int number) { same = same && read[i] == located<Sequences>(args, number); });
    return __all_sync(kAllLanes, same);
  }

 private:
  // Calls `use(i, number)` for each sequence that this lane reads.
  template <typename Args, typename Use>
  __device__ __forceinline__ static void for_each_own(const Args& args, Use use) {
    const int lane = threadIdx.x % kWarpSize;
    if (lane < args.batch) use(0, lane);
    if (args.batch <= kWarpSize) return;
#pragma unroll
    for (int i = 1; i < kOfLane; ++i) {
      if (i * kWarpSize + lane < args.batch) use(i, i * kWarpSize + lane);
    }
  }

  __device__ __forceinline__ Sequence nth(int i) const {
    Sequence of = read[0];
    if (i == 0) return of;
#pragma unroll
    for (int other = 1; other < kOfLane; ++other) {
      if (i == other) of = read[other];
    }
    return of;
  }
};

template <typename G>
struct Line {
  using Problem = typename G::Problem;
  using Sequences = typename G::Sequences;
  using Blocks = KeyBlocks<Problem, G::kTileKeys>;

  int sharing;    // heads that share keys and values
  int groups;
  int64_t count = 0;  // blocks of keys
  // Places of a share: the first blocks of the grid have as many, one the rest, and others none.
  int64_t each = 1;

  template <typename Args>
  __device__ __forceinline__ explicit Line(const Args& args) : sharing(args.heads / args.groups), groups(args.groups) {}

  // Cuts so many places into shares: of narrow heads, where a share that goes on in another tile loses most, and where tiles have as
  // many places as the first, whole tiles or a whole part of one, if that is little more.
  __device__ __forceinline__ void cut(int64_t places, const Sequence& first) {
    count = places;
    each = max((count + gridDim.x - 1) / gridDim.x, int64_t{1});
    if constexpr (G::kHeadDim <= 64) {
      constexpr int kFew = 32;
      const int own = static_cast<int>(each);
      if (own < kFew) return;
      const int tile = length(blocks(first, 0));
      const int parts = max(tile / own, 1);
      const int whole = own > tile ? ceil_div(own, tile) * tile : ceil_div(tile, parts);
      if (whole * parts % tile == 0 && whole - own <= own / 16) each = whole;
    }
  }

  // Where the share of a block of the grid begins.
  __device__ __forceinline__ int64_t begin(uint32_t block) const { return min(each * block, count); }

  __device__ __forceinline__ int rows(const Sequence& sequence) const { return sequence.queries * sharing; }
  __device__ __forceinline__ int tiles(const Sequence& sequence) const {
    return ceil_div(rows(sequence), G::kTileQueries);
  }

  __device__ __forceinline__ Blocks blocks(const Sequence& sequence, int tile) const {
    const int first = tile * G::kTileQueries;
    const int last = min(first + G::kTileQueries, rows(sequence)) - 1;
    return Blocks(KeysOf<Problem>(sequence.queries, sequence.keys), first / sharing, last / sharing);
  }

  // Places in the line: one also where no key is seen, as rows are to be written.
  __device__ __forceinline__ static int length(const Blocks& blocks) { return max(blocks.count(), 1); }

  __device__ __forceinline__ int64_t of_group(const Sequence& sequence) const {
    const int tiles_here = tiles(sequence);
    if constexpr (!Problem::kCausal && Problem::kWindow == 0) {
      return tiles_here == 0 ? 0 : int64_t{tiles_here} * length(blocks(sequence, 0));
    } else {
      int64_t sum = 0;
#pragma unroll 1
      for (int tile = 0; tile < tiles_here; ++tile) sum += length(blocks(sequence, tile));
      return sum;
    }
  }
  __device__ __forceinline__ int64_t of_sequence(const Sequence& sequence) const {
    return groups * of_group(sequence);
  }
};

// A block's share: where it begins, and how many blocks of keys it has.
template <typename G>
struct Share {
  Line<G> line;
  int64_t begin;
  int count;
  Sequence sequence;
  int group = 0;
  int tile = 0;
  int before = 0;  // blocks of that tile that are another's

  // Of a whole warp.
  template <typename Args, typename Batch>
  __device__ __forceinline__ Share(const Args& args, const Batch& sequences) : line(args), sequence{} {
    if constexpr (G::Sequences::kAreWhole) {
      const int64_t each = line.of_sequence(sequences.any(args, 0));
      cut(each * args.batch, sequences.any(args, 0));
      if (count == 0) return;
      const int number = begin / each;
      find(sequences.any(args, number), begin - number * each);
    } else {
      find_sequence(args, sequences);
    }
  }
  template <typename Args>
  __device__ __forceinline__ explicit Share(const Args& args) : Share(args, Known<typename G::Sequences>()) {}

  // Who computes pieces of the tile of one: shares are of one length, but for the last.
  template <typename Piece>
  __device__ __forceinline__ Owners owners(const Piece& piece) const {
    const int each = static_cast<int>(line.each), own = static_cast<int>(blockIdx.x);
    const int first = own - ceil_div(piece.before, each);
    const int last = own + (piece.from - piece.before + piece.tile_blocks - 1) / each;
    return {first, last - first + 1};
  }

  // Calls `compute(piece)` for each piece in order.
  template <typename Args, typename Compute>
  __device__ __forceinline__ void for_each_piece(const Args& args, Compute compute) const {
    while_pieces(args, Known<typename G::Sequences>(), [&](const auto& piece) {
      compute(piece);
      return true;
    });
  }

  // As long as `compute(piece)` says so.
  template <typename Args, typename Batch, typename Compute>
  __device__ __forceinline__ void while_pieces(const Args& args, const Batch& sequences, Compute compute) const {
    Sequence at = sequence;
    int group_at = group, tile_at = tile, skipped = before;
#pragma unroll 1
    for (int from = 0; from < count;) {
      const auto blocks = line.blocks(at, tile_at);
      const int length = line.length(blocks);
      const int taken = min(length - skipped, count - from);
      const Piece<typename Line<G>::Blocks> piece = {
          at, group_at, tile_at * G::kTileQueries, blocks.part(skipped, taken), skipped, length, from};
      if (!compute(piece)) return;
      from += taken;
      skipped = 0;
      if (++tile_at < line.tiles(at)) continue;
      tile_at = 0;
      if (++group_at < line.groups) continue;
      group_at = 0;
      do {
        if (at.number + 1 >= args.batch) return;
        at = sequences.any(args, at.number + 1);
      } while (at.queries == 0);
    }
  }

 private:
  __device__ __forceinline__ void cut(int64_t places, const Sequence& first) {
    line.cut(places, first);
    begin = line.begin(blockIdx.x);
    count = line.begin(blockIdx.x + 1) - begin;
  }

  // Where a share of sequences that differ begins, by a scan of them, one a lane: batches of no more are read once.
  template <typename Args, typename Batch>
  __device__ __forceinline__ void find_sequence(const Args& args, const Batch& sequences) {
    if (args.batch == 1) {
      const Sequence only = sequences.any(args, 0);
      cut(line.of_sequence(only), only);
      if (count != 0) find(only, begin);
      return;
    }
    const auto window_at = [&](int first) {
      return Window(first, args.batch, [&](int number) { return line.of_sequence(sequences.own(args, number)); });
    };
    Window window = window_at(0);
    int64_t places = window.all();
    if (args.batch > kWarpSize) {
#pragma unroll 1
      for (int first = kWarpSize; first < args.batch; first += kWarpSize) places += window_at(first).all();
    }
    cut(places, sequences.any(args, 0));
    if (count == 0) return;
    int64_t rest = begin;
    int found;
#pragma unroll 1
    while ((found = window.find(rest)) == Window::kNone) {
      rest -= window.all();
      window = window_at(window.behind());
    }
    find(sequences.any(args, found), rest);
  }

  // The group, and the tile, of a place of a sequence.
  __device__ __forceinline__ void find(const Sequence& of, int64_t rest) {
    sequence = of;
    const int64_t of_group = line.of_group(sequence);
    group = rest / of_group;
    rest %= of_group;
    if constexpr (!G::Problem::kCausal && G::Problem::kWindow == 0) {
      const int length = line.length(line.blocks(sequence, 0));
      tile = rest / length;
      before = rest % length;
    } else {
      for (int length; rest >= (length = line.length(line.blocks(sequence, tile))); ++tile) rest -= length;
      before = rest;
    }
  }
};

}  // namespace autokernel::attention
