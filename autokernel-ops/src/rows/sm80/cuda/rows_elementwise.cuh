// Rows along which nothing is reduced: a block takes a part of a row, so that long rows leave no time between two parts of them.
//
// A part is as many vectors as the threads of a row request at once, the first one with the single elements at the ends of a row that
// begins anywhere. Blocks are as many as the columns need, or one fewer a row of very many: some take another part then.
#pragma once

#include "rows_sm80.cuh"

namespace autokernel::rows {

template <typename Problem, typename Schedule, typename Args>
struct ElementwiseRows : Rows<Problem, Schedule, Args> {
  using Base = Rows<Problem, Schedule, Args>;
  using Team = typename Base::Team;
  static_assert(Problem::kPasses == 1 && Problem::kReductions == 0 && Problem::kJoined < 0, "nothing is reduced");

  // Columns that a block takes at most: its vectors, and the single elements of a row beside them.
  static constexpr int kColumns = Base::kStretch * Base::kVector + Base::kVector - 1;

  template <Cut kCut>
  __device__ __forceinline__ static void part(const Args& args) {
    const int parts = ceil_div(args.columns, kColumns);
    const int64_t first = int64_t(blockIdx.x / parts) * Base::kRowsPerBlock;
    const typename Base::template Row<kCut> row(args, first + Team::number());
    int start = blockIdx.x % parts * Base::kStretch;
    const bool writes = row.is_inside && start == 0 && Team::member() == 0;
    typename Base::template Held<kCut, true> held;
    typename Base::Values values;
    typename Base::Reduced reduced;
    Base::template load<0, true>(row, start, held);
    Problem::template between<0>(args, row.index, writes, values);
    while (true) {
      Base::template elements<0, true>(row, start, held, values, reduced);
      start += parts * Base::kStretch;
      if (start >= row.vectors) break;
      Base::template load<0, true>(row, start, held);
    }
    Problem::template between<1>(args, row.index, writes, values);
  }

  __device__ __forceinline__ static void run(const Args& args) {
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    if (args.columns % Base::kVector == 0 && Problem::is_aligned(args)) {
      part<Cut::kWhole>(args);
    } else {
      part<Cut::kRagged>(args);
    }
  }
};

}  // namespace autokernel::rows
