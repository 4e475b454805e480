// Row-wise kernels on every GPU from compute capability 8.0 on.
//
// A team of threads takes a row: thread t the vectors t, t + kThreadsPerRow, ... Of a row that fits, a thread requests
// all its vectors before it uses the first, so that kVectors accesses of 16 bytes are in flight in each, and holds them
// in registers from pass to pass: the row is read once and written once. A longer row is read again in each pass,
// kVectors at a time, out of L2 where it fits.
//
// Vectors that a row does not have are computed as zeros and left out, and the single elements at the ends of a row that
// begins or ends between vectors are threads' own: so the code is straight, and the vectors of a thread overlap in it.
//
// With kPrefetches, blocks stay and walk over the rows: each requests its next row into shared memory while it computes
// one. With kCluster, on Hopper, the blocks of a cluster share a row, and the launch begins before the one before it ends.
//
// What is computed stands in `Problem`, which is printed for each kernel: see the room's golden files.
#pragma once

#include "epilogue.cuh"
#include "multiprocessor.cuh"
#include "rows_joined.cuh"
#include "rows_prefetch.cuh"
#include "rows_reduce.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// Stands for all passes where one is named.
constexpr int kEveryPass = -1;

// How the rows of a launch divide into vectors.
enum class Cut {
  kWhole,    // into aligned ones, in all operands
  kShifted,  // the same between single elements before and behind them, in all matrices and the `Row`s that blocks keep
  kRagged,   // with single elements before and behind them, and operands that are not aligned
};

// Whether blocks keep `Row`s: those of teams apart may.
template <typename Problem, Teams kTeams>
constexpr bool kKeepsRows = false;
template <typename Problem>
constexpr bool kKeepsRows<Problem, Teams::kApart> = Problem::kKeptBytes > 0;

template <typename Problem, typename Schedule, typename Args, Teams kTeams = Teams::kTogether>
struct Rows {
  static constexpr int kBlocksPerRow = Schedule::kCluster > 1 ? Schedule::kCluster : 1;
  static constexpr int kThreadsPerRow = Schedule::kThreadsPerRow * kBlocksPerRow;
  static constexpr int kRowsPerBlock = Schedule::kRowsPerBlock;
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kVectors = Schedule::kVectors;
  static constexpr int kThreads = Schedule::kThreadsPerRow * kRowsPerBlock;
  // Vectors that the threads of a row request together: a stretch.
  static constexpr int kStretch = kThreadsPerRow * kVectors;
  // Columns at each end that shifted rows leave to single elements, so that `Row`s that a block keeps have as many around each vector.
  static constexpr int kMargin = kKeepsRows<Problem, kTeams> ? kVector : 0;
  // Single elements of a thread: beside those a row has fewer than a vector at each end.
  static constexpr int kSingles = ceil_div(2 * (kMargin + kVector - 1), kThreadsPerRow);

  using Team = rows::Team<Schedule::kThreadsPerRow, kRowsPerBlock, kBlocksPerRow, Problem::kMostReductions,
                          (Schedule::kPrefetches || Problem::kReductions > 2), kTeams>;
  template <int kColumns>
  using Inputs = typename Problem::template Inputs<kColumns>;
  template <int kColumns>
  using Kept = typename Problem::template Kept<kColumns>;
  using Values = typename Problem::Values;
  using Reduced = typename Problem::Reduced;

  // One row, as one of its threads sees it.
  template <Cut kCut>
  struct Row {
    int index;
    bool is_inside;  // whether there is such a row; one that is not there has no columns
    int columns;
    int head;     // columns before the first vector
    int vectors;  // whole ones
    typename Problem::Places places;

    // To blocks that share a row bulk copies bring one piece of it each; threads that load take every kThreadsPerRow-th vector.
    static constexpr bool kIsInPieces = kCut != Cut::kRagged && kTeams == Teams::kApart;
    Piece piece;
    static constexpr int kBefore = kCut == Cut::kShifted ? kMargin : 0;

    __device__ __forceinline__ Row(const Args& args, int64_t number) : Row(args, number, number < args.rows) {}

    __device__ __forceinline__ Row(const Args& args, int64_t number, bool is_there)
        : index(is_there ? int(number) : args.rows - 1),
          is_inside(is_there),
          columns(is_inside ? args.columns : 0),
          head(kCut == Cut::kWhole ? 0 : min(Problem::head(args, index) + kBefore, columns)),
          vectors((kBefore > 0 ? max(columns - head - kBefore, 0) : columns - head) / kVector),
          places(Problem::places(args, index, head)),
          piece(kIsInPieces ? Piece::of<kBlocksPerRow>(Team::block(), vectors) : Piece{0, vectors}) {}

    // A vector of this thread, of the stretch that begins with vector `start`.
    __device__ __forceinline__ Span<kVector> span(int start, int vector) const {
      if constexpr (kIsInPieces) {
        const int at = vector * Schedule::kThreadsPerRow + threadIdx.x % Schedule::kThreadsPerRow;
        return {head + (piece.first + at) * kVector, at < piece.count, at * kVector};
      } else {
        const int at = start + vector * kThreadsPerRow + Team::member();
        return {head + at * kVector, at < vectors};
      }
    }

    // A single element of this thread.
    __device__ __forceinline__ Span<1> single(int number) const {
      const int at = number * kThreadsPerRow + Team::member();
      const int singles = columns - vectors * kVector;
      return {at < head ? at : columns - singles + at, at < singles};
    }
  };

  // What a thread holds of a row, or of a stretch of it: fewer vectors where unaligned ones take registers of their own.
  template <Cut kCut, bool kHeld>
  struct Held {
    static constexpr int kVectors = kCut == Cut::kRagged && !kHeld ? ceil_div(Rows::kVectors, 2) : Rows::kVectors;
    static constexpr int kSingles = kCut == Cut::kWhole ? 0 : Rows::kSingles;

    Inputs<kVector> vectors[kVectors];
    Kept<kVector> kept_vectors[kVectors];
    Inputs<1> singles[kSingles + 1];
    Kept<1> kept_singles[kSingles + 1];
  };

  // Requests what pass kPass reads of a stretch; the single elements with the first.
  template <int kPass, bool kHeld, Cut kCut>
  __device__ __forceinline__ static void load(const Row<kCut>& row, int start, Held<kCut, kHeld>& held) {
    constexpr bool kIsAligned = kCut != Cut::kRagged;
#pragma unroll
    for (int vector = 0; vector < held.kVectors; ++vector) {
      Problem::template visit<kPass>(row.places, held.vectors[vector], [&](auto& packed, auto place) {
        rows::load<kIsAligned>(packed, place, row.span(start, vector));
      });
    }
#pragma unroll
    for (int number = 0; number < held.kSingles; ++number) {
      Problem::template visit<kPass>(row.places, held.singles[number], [&](auto& packed, auto place) {
        const Span<1> single = row.single(number);
        rows::load<kIsAligned>(packed, place, Span<1>{single.first, single.is_inside && start == 0});
      });
    }
  }

  // What pass kPass does to them.
  template <int kPass, bool kHeld, Cut kCut>
  __device__ __forceinline__ static void elements(const Row<kCut>& row, int start, Held<kCut, kHeld>& held,
                                                  const Values& values, Reduced& reduced) {
    constexpr bool kIsAligned = kCut != Cut::kRagged;
#pragma unroll
    for (int vector = 0; vector < held.kVectors; ++vector) {
      Problem::template elements<kPass, kHeld, kIsAligned>(row.places, row.span(start, vector), held.vectors[vector],
                                                           held.kept_vectors[vector], values, reduced);
    }
#pragma unroll
    for (int number = 0; number < held.kSingles; ++number) {
      const Span<1> single = row.single(number);
      if (single.is_inside && start == 0) {
        Problem::template elements<kPass, kHeld, kIsAligned>(row.places, single, held.singles[number],
                                                             held.kept_singles[number], values, reduced);
      }
    }
  }

  // What is reduced and written of a stretch in pass kPass, and in the next one where both are one.
  template <int kPass, bool kHeld, Cut kCut>
  __device__ __forceinline__ static void stretch(const Row<kCut>& row, int start, Held<kCut, kHeld>& held,
                                                 Values& values, Reduced& reduced) {
    elements<kPass, kHeld>(row, start, held, values, reduced);
    if constexpr (kPass == Problem::kJoined) {
      Problem::settle(reduced, values);
      elements<kPass + 1, kHeld>(row, start, held, values, reduced);
    }
  }

  // Pass kPass and all behind it. Of a row that is held, `held` are its elements. AnyTeam reduces as Team does.
  template <int kPass, bool kHeld, Cut kCut, typename AnyTeam>
  __device__ __forceinline__ static void passes(const Args& args, const Row<kCut>& row, AnyTeam& team,
                                                Held<kCut, kHeld>& held, Values& values) {
    Problem::template between<kPass>(args, row.index, row.is_inside && Team::member() == 0, values);
    if constexpr (kPass < Problem::kPasses) {
      constexpr int kLast = kPass == Problem::kJoined ? kPass + 1 : kPass;
      Reduced reduced;
      if constexpr (kHeld) {
        stretch<kPass, kHeld>(row, 0, held, values, reduced);
      } else {
        int start = 0;
#pragma unroll 1
        do {
          load<kPass, kHeld>(row, start, held);
          stretch<kPass, kHeld>(row, start, held, values, reduced);
          start += kThreadsPerRow * held.kVectors;
        } while (start < row.vectors);
      }
      Problem::template reduce<kLast>(args, team, reduced, values);
      if constexpr (kLast > kPass) {
        Problem::template between<kLast>(args, row.index, row.is_inside && Team::member() == 0, values);
      }
      passes<kLast + 1, kHeld>(args, row, team, held, values);
    }
  }

  // The first row of this block, and how far the next one is.
  __device__ __forceinline__ static int64_t first_row() { return int64_t(blockIdx.x / kBlocksPerRow) * kRowsPerBlock; }
  __device__ __forceinline__ static int64_t step() { return int64_t(gridDim.x / kBlocksPerRow) * kRowsPerBlock; }

  template <bool kHeld, Cut kCut>
  __device__ __forceinline__ static void rows(const Args& args, Team& team) {
    int64_t first = first_row();
    do {
      const Row<kCut> row(args, first + Team::number());
      Held<kCut, kHeld> held;
      Values values;
      if constexpr (kHeld) load<kEveryPass, kHeld>(row, 0, held);
      passes<0, kHeld>(args, row, team, held, values);
      first += step();
    } while (Schedule::kPrefetches && first < args.rows);
  }

  using Prefetch = rows::Prefetch<kThreads, kVectors, Inputs<kVector>>;

  // Requests a row into shared memory.
  __device__ __forceinline__ static void request(const Row<Cut::kWhole>& row) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      Inputs<kVector> inputs;  // only where its fields lie
      Problem::template visit<kEveryPass>(row.places, inputs, [&](auto& packed, auto place) {
        Prefetch::request(vector, inputs, packed, place, row.span(0, vector));
      });
    }
    Prefetch::commit();
  }

  __device__ __forceinline__ static void collect(const Row<Cut::kWhole>& row, Held<Cut::kWhole, true>& held) {
    Prefetch::wait();
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      auto& inputs = held.vectors[vector];
      Problem::template visit<kEveryPass>(row.places, inputs,
                                          [&](auto& packed, auto) { Prefetch::collect(vector, inputs, packed); });
    }
  }

  __device__ __forceinline__ static void rows_ahead(const Args& args, Team& team) {
    Held<Cut::kWhole, true> held;
    request(Row<Cut::kWhole>(args, first_row() + Team::number()));
    for (int64_t first = first_row(); first < args.rows; first += step()) {
      const Row<Cut::kWhole> row(args, first + Team::number());
      Values values;
      collect(row, held);
      request(Row<Cut::kWhole>(args, first + step() + Team::number()));
      passes<0, true>(args, row, team, held, values);
    }
  }

  template <Cut kCut>
  __device__ __forceinline__ static void run(const Args& args, Team& team) {
    // The same for all rows, as those of a block reduce together. Ragged rows cannot be requested ahead, and of so long
    // ones, which leave few registers, a thread holds a part.
    const bool is_held = args.columns / kVector <= kStretch;
    if constexpr (!Schedule::kPrefetches) {
      if (is_held) return rows<true, kCut>(args, team);
    } else if constexpr (kCut == Cut::kWhole) {
      if (is_held) return rows_ahead(args, team);
    }
    rows<false, kCut>(args, team);
  }

  __device__ __forceinline__ static void run(const Args& args) {
    __shared__ typename Team::Scratch scratch;
    Team team{scratch};
    team.meet();
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    if (args.columns % kVector == 0 && Problem::is_aligned(args)) {
      run<Cut::kWhole>(args, team);
    } else {
      run<Cut::kRagged>(args, team);
    }
    team.part();
  }
};

}  // namespace autokernel::rows
