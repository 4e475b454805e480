// Row-wise kernels on every GPU from compute capability 8.0 on.
//
// A team of threads takes a row: thread t the vectors t, t + kThreadsPerRow, ... Of a row that fits, a thread requests
// all its vectors before it uses the first, so that kVectors accesses of 16 bytes are in flight in each, and holds them
// in registers from pass to pass: the row is read once and written once. A longer row is read again in each pass,
// kVectors at a time, out of L2 where it fits.
//
// What is computed stands in `Problem`, which is printed for each kernel: see the room's golden files.
#pragma once

#include "epilogue.cuh"
#include "rows_reduce.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// Stands for all passes where one is named.
constexpr int kEveryPass = -1;

template <typename Problem, typename Schedule, typename Args>
struct Rows {
  static constexpr int kThreadsPerRow = Schedule::kThreadsPerRow;
  static constexpr int kRowsPerBlock = Schedule::kRowsPerBlock;
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kVectors = Schedule::kVectors;
  static constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  // Vectors that the threads of a row request together: a stretch.
  static constexpr int kStretch = kThreadsPerRow * kVectors;

  using Team = rows::Team<kThreadsPerRow, kRowsPerBlock, Problem::kMostReductions>;
  using Span = rows::Span<kVector>;
  using Inputs = typename Problem::Inputs;
  using Kept = typename Problem::Kept;
  using Values = typename Problem::Values;
  using Reduced = typename Problem::Reduced;

  // One row, as one of its threads sees it.
  struct Row {
    int64_t index;
    bool is_inside;  // whether there is such a row; one that is not there has no columns
    int columns;
    int phase;    // columns by which the first vector begins before the row
    int vectors;  // that the row divides into
    typename Problem::Places places;

    __device__ __forceinline__ Row(const Args& args, int64_t number)
        : index(number < args.rows ? number : args.rows - 1),
          is_inside(number < args.rows),
          columns(is_inside ? args.columns : 0),
          phase(Problem::phase(args, index)),
          vectors(columns > 0 ? (columns - 1 + phase) / kVector + 1 : 0),
          places(Problem::places(args, index, phase)) {}

    // A vector of this thread, of the stretch that begins with vector `start`.
    __device__ __forceinline__ Span span(int start, int vector) const {
      int at = start + vector * kThreadsPerRow + Team::member();
      // Computed anew for each use: a register for each vector is dearer.
      asm volatile("" : "+r"(at));
      return {at < vectors ? at * kVector - phase : columns, columns};
    }
  };

  template <int kPass>
  __device__ __forceinline__ static void load(const Row& row, int start, Inputs (&inputs)[kVectors]) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      const Span span = row.span(start, vector);
      if (!span.is_empty()) Problem::template load<kPass>(row.places, span, inputs[vector]);
    }
  }

  template <int kPass, bool kHeld>
  __device__ __forceinline__ static void elements(const Row& row, int start, const Inputs (&inputs)[kVectors],
                                                  Kept (&kept)[kVectors], const Values& values, Reduced& reduced) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      const Span span = row.span(start, vector);
      if (!span.is_empty()) {
        Problem::template elements<kPass, kHeld>(row.places, span, inputs[vector], kept[vector], values, reduced);
      }
    }
  }

  // Pass kPass and all behind it. Of a held row, `inputs` are its vectors.
  template <int kPass, bool kHeld>
  __device__ __forceinline__ static void passes(const Args& args, const Row& row, Team& team,
                                                Inputs (&inputs)[kVectors], Kept (&kept)[kVectors], Values& values) {
    Problem::template between<kPass>(args, row.index, row.is_inside && Team::member() == 0, values);
    if constexpr (kPass < Problem::kPasses) {
      Reduced reduced;
      if constexpr (kHeld) {
        elements<kPass, kHeld>(row, 0, inputs, kept, values, reduced);
      } else {
#pragma unroll 1
        for (int start = 0; start < row.vectors; start += kStretch) {
          load<kPass>(row, start, inputs);
          elements<kPass, kHeld>(row, start, inputs, kept, values, reduced);
        }
      }
      Problem::template reduce<kPass>(args, team, reduced, values);
      passes<kPass + 1, kHeld>(args, row, team, inputs, kept, values);
    }
  }

  template <bool kHeld>
  __device__ __forceinline__ static void rows(const Args& args, Team& team) {
    const int64_t step = int64_t(gridDim.x) * kRowsPerBlock;
    for (int64_t first = int64_t(blockIdx.x) * kRowsPerBlock; first < args.rows; first += step) {
      const Row row(args, first + Team::number());
      Inputs inputs[kVectors];
      Kept kept[kVectors];
      Values values;
      if constexpr (kHeld) load<kEveryPass>(row, 0, inputs);
      passes<0, kHeld>(args, row, team, inputs, kept, values);
    }
  }

  __device__ __forceinline__ static void run(const Args& args) {
    __shared__ typename Team::Scratch scratch;
    Team team{scratch};
    // The same for all rows, as those of a block reduce together.
    const int64_t most_vectors = ceil_div<int64_t>(args.columns + Problem::most_phase(args), kVector);
    if (most_vectors <= kStretch) {
      rows<true>(args, team);
    } else {
      rows<false>(args, team);
    }
  }
};

}  // namespace autokernel::rows
