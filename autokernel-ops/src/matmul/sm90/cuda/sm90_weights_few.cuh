// The main loop of a consumer warpgroup where one factor holds whole numbers of few bits and the tile has few rows of the other: each warp
// makes fragments of its own 16 rows of weights and multiplies them by mma, so that no warp waits for another and none for a wgmma that
// reads what it unpacked. Sums lie as wgmma would leave them.
#pragma once

#include "sm90_weights_units.cuh"

namespace autokernel::sm90::weights {

// A tile of at most kMostColumnsByWarps rows of the other factor.
template <typename G>
struct TileOfFew {
  using Units = weights::Units<G>;
  using Part = typename Units::Part;
  static constexpr int kUnits = G::kTileK / kUnit;  // of a stage
  static_assert(kUnits % 2 == 0, "units take turns in registers");

  template <typename Issued>
  __device__ __forceinline__ static void multiply(Accumulators<G>& acc, const SharedLayout<G>& shared, RingCursor<G::kStages>& cursor,
                                                  int k_blocks, int first, const Issued& issued) {
    const int lane = threadIdx.x % kWarpSize;
    const int row = first + threadIdx.x / kWarpSize % kWarpsPerWarpgroup * kWarpRows;
    const typename Units::Place place{{row, lane}, row + lane / 4, 0};
    Units units;
    Part parts[2];
    Units::clear(acc);
    units.clear();

    wait_for_stage(shared, cursor);
    Units::load(parts[0], parts[1], shared, cursor.stage, place, 0);
#pragma unroll 1
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (unit + 1 < kUnits) {
          Units::load(parts[(unit + 1) % 2], parts[unit % 2], shared, cursor.stage, place, unit + 1);
        } else {
          __syncwarp();  // all lanes have read the stage
          release_stage(shared, cursor.stage);
          cursor.advance();
          if (k_block + 1 < k_blocks) {
            wait_for_stage(shared, cursor);
            Units::load(parts[0], parts[1], shared, cursor.stage, place, 0);
          }
        }
        units.multiply(acc, parts[unit % 2], unit);
      }
    }
    issued();
    units.add_to(acc);
  }
};

}  // namespace autokernel::sm90::weights
