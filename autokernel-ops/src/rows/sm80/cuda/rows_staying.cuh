// Rows of blocks that stay with such as begin alike, and keep their `Row`s, shifted once to where the vectors of these rows begin: in memory no
// row finds them aligned. A thread requests its vectors of the next row before it computes one, so that it holds two.
//
// What a thread has in shared memory only it accesses, so nobody waits for it.
#pragma once

#include "rows_kept.cuh"
#include "rows_sm80.cuh"

namespace autokernel::rows {

template <typename Problem, typename Schedule, typename Args>
struct StayingRows : Rows<Problem, Schedule, Args, Teams::kApart> {
  using Base = Rows<Problem, Schedule, Args, Teams::kApart>;
  using Team = typename Base::Team;
  template <Cut kCut>
  using Row = typename Base::template Row<kCut>;
  template <Cut kCut>
  using Held = typename Base::template Held<kCut, true>;

  static constexpr int kSharedBytes = kKeptColumns<Schedule> * Problem::kKeptBytes;

  template <Cut kCut>
  __device__ __forceinline__ static void walk(const Args& args, Team& team) {
    constexpr int kAlike = kCut == Cut::kShifted ? Schedule::kVector : 1;
    const int64_t first = Base::first_row(), step = Base::step() / kAlike * kAlike;
    if (first >= step) return;  // a block beyond
    Held<kCut> next;
    Base::template load<kEveryPass, true>(Row<kCut>(args, first), 0, next);
    keep_rows<Problem, Schedule, kCut == Cut::kShifted>(Row<kCut>(args, first));
#pragma unroll 1
    for (int64_t number = first; number < args.rows; number += step) {
      const Row<kCut> row(args, number, true);
      Held<kCut> held = next;
      Base::template load<kEveryPass, true>(Row<kCut>(args, number + step), 0, next);
      typename Base::Values values;
      Base::template passes<0, true>(args, row, team, held, values);
    }
  }

  __device__ __forceinline__ static void run(const Args& args) {
    __shared__ typename Team::Scratch scratch;
    Team team{scratch};
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    const bool is_held = args.columns / Schedule::kVector <= Base::kStretch;
    if (is_held && args.columns % Schedule::kVector == 0 && Problem::is_aligned(args)) {
      walk<Cut::kWhole>(args, team);
    } else if (is_held && Problem::kMayShift && Base::step() >= Schedule::kVector && Problem::is_alike(args)) {
      if constexpr (Problem::kMayShift) walk<Cut::kShifted>(args, team);
    } else {
      Base::template rows<false, Cut::kRagged>(args, team);
    }
  }
};

}  // namespace autokernel::rows
