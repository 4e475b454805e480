// The epilogue of a body whose output is scaled in blocks, on Hopper: a warp's 16 rows of a tile are computed and scaled whole, as blocks
// are wider than what is staged at a time, and then staged and stored as those of a product without a body.
#pragma once

#include "body_scaled.cuh"
#include "sm90_epilogue.cuh"

namespace autokernel::sm90 {

template <typename Problem, typename G, typename Body, typename Args, typename Batch>
struct Epilogue<Problem, G, body::Scaled<Body>, Args, Batch> : Epilogue<Problem, G, body::None, Args, Batch> {
  using Base = Epilogue<Problem, G, body::None, Args, Batch>;
  static_assert(Batch::kMany == batch::Many::kNone, "scales are of one product");
  static_assert(G::kAccumulators + Body::kRegisters <= kMostRegisters, "accumulators_fit_registers");

  __device__ Epilogue(const Args& launched, OutputView<typename G::Output> view, bool store_with_tma, uint32_t warp_staging)
      : Base(launched, view, store_with_tma, warp_staging) {}

  template <typename... Other>
  __device__ __forceinline__ void store_block(float (&acc)[G::kWidth / 2], int row, int column,
                                              const Other*... others) {
    const auto& c = this->c;
    if (row >= c.rows || column >= c.columns) return;
    constexpr int kFragments = G::kWidthOfOne / body::kFragmentStep;
    using Scaled = body::Scaled<Body>;
    body::RowStatistics<Scaled, G::kSwapAB> statistics;
    const auto place = body::Place<G::kSwapAB>::of_lane(row, column, c.rows, c.columns);
    body::apply<Scaled, G::kSwapAB, kFragments, G::kRequestedRegisters>(this->args, acc, place, statistics, others...);
    Base::store_block(acc, row, column);
  }
};

}  // namespace autokernel::sm90
