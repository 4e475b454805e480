// One image for tiles of several heights: a launch says by args.tile_m how many rows its tiles have.
//
// Computed transposed, a tile's rows are the width of wgmma, which is part of the instruction, and what they take of shared
// memory decides how deep the ring is. So each height is a kernel of its own, and one branch at the top chooses among them.
#pragma once

#include "sm90_matmul.cuh"

namespace autokernel::sm90 {

// `Kernels`: Matmul by schedules that differ in their rows, and in what follows from these.
template <typename First, typename... Others>
struct OneOfHeights {
  static constexpr int kThreads = First::kThreads;
  static constexpr int kMinBlocks = First::kMinBlocks;
  static_assert(First::kSwapAB && First::kClusterSize == 1 && !First::kStreamK, "heights_are_of_swapped_tiles");
  static_assert(((Others::kThreads == kThreads && Others::kMinBlocks == kMinBlocks) && ...), "one launch bound serves all");
  static_assert(((Others::kTileM != First::kTileM) && ...), "a launch names a height by its rows");

  // Nothing where no kernel has that height: a launch takes one of those that its image was emitted with.
  template <typename Args>
  __device__ __forceinline__ static void run(const Args& args) {
    if (args.tile_m == First::kTileM) return First::run(args);
    if constexpr (sizeof...(Others) > 0) OneOfHeights<Others...>::run(args);
  }
};

}  // namespace autokernel::sm90
