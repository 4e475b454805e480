// The epilogue of a body that writes no elements, on Hopper: what a warp holds of a tile is reduced, and nothing is staged.
#pragma once

#include "body_unstored.cuh"
#include "sm90_epilogue.cuh"

namespace autokernel::sm90 {

template <typename Problem, typename G, typename Body, typename Args, typename Batch>
struct Epilogue<Problem, G, body::Unstored<Body>, Args, Batch> {
  static_assert(Batch::kMany == batch::Many::kNone, "rows are reduced of one product");
  static_assert(G::kAccumulators + Body::kRegisters <= kMostRegisters, "accumulators_fit_registers");
  static_assert(G::kEpilogueBuffers == 0, "nothing is staged");

  const Args& args;
  OutputView<typename G::Output> c;

  __device__ __forceinline__ static void prefetch(const Args&) {}

  __device__ Epilogue(const Args& launched, OutputView<typename G::Output> view, bool, uint32_t) : args(launched), c(view) {}

  template <typename Place>
  __device__ __forceinline__ void enter(const Args&, const Place&) {}

  __device__ __forceinline__ void begin_operands(const TileCoord&, int) {}
  __device__ __forceinline__ void request_operands(const TileCoord&, int) {}

  // One wgmma block, as other epilogues store it, in chunks that are requested at once.
  template <typename... Other>
  __device__ __forceinline__ void store_block(float (&acc)[G::kWidth / 2], int row, int column, const Other*... others) {
    if (row >= c.rows || column >= c.columns) return;
    constexpr int kChunk = G::kSwapAB ? G::kStoreRows : G::kStoreColumns;  // columns of wgmma
    body::RowStatistics<Body, G::kSwapAB> statistics;
#pragma unroll
    for (int first = 0; first < G::kWidthOfOne; first += kChunk) {
      const int first_row = row + (G::kSwapAB ? first : 0), first_column = column + (G::kSwapAB ? 0 : first);
      if (first_row >= c.rows || first_column >= c.columns) break;
      const auto place = body::Place<G::kSwapAB>::of_lane(first_row, first_column, c.rows, c.columns);
      body::apply<Body, G::kSwapAB, kChunk / body::kFragmentStep, G::kRequestedRegisters>(args, acc + first / 2, place, statistics,
                                                                                          (others + first / 2)...);
    }
    if constexpr (!G::kSwapAB) {
      statistics.leave(args, body::Place<false>::of_lane(row, column, c.rows, c.columns));
    }
  }

  __device__ __forceinline__ void finish() {}
};

}  // namespace autokernel::sm90
