// The main loop of a consumer warpgroup: stages in, fp32 accumulators out.
#pragma once

#include "ptx/sm90_wgmma.cuh"
#include "sm90_pipeline.cuh"

namespace autokernel::sm90 {

template <typename G>
using Accumulators = float[G::kBlocksM][G::kTileN / 2];

// Issues and commits the wgmmas of one stage. `kFirst` overwrites the accumulators, so nothing clears them.
template <bool kFirst, typename G>
__device__ __forceinline__ void multiply_stage(Accumulators<G>& acc, const SharedLayout<G>& shared, int stage,
                                               int first_row) {
  using Multiply = ptx::Wgmma<typename G::Input, G::kBMajorN, G::kTileN>;
  constexpr uint32_t kStepB = G::kBMajorN ? kStepMajorN : kStepMajorK;
  constexpr uint32_t kBlockStepA = kBlockM * kSwizzleBytes >> 4;

  // One descriptor an operand and stage; the k and m steps only add to its address field.
  const Descriptor a{kDescriptorMajorK, shared.a(stage) + first_row * kSwizzleBytes};
  const Descriptor b{G::kBMajorN ? kDescriptorMajorN : kDescriptorMajorK, shared.b(stage)};

  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < G::kTileK / kBlockK; ++k) {
#pragma unroll
    for (int block = 0; block < G::kBlocksM; ++block) {
      Multiply::run(acc[block], a.at(block * kBlockStepA + k * kStepMajorK), b.at(k * kStepB), !kFirst || k > 0);
    }
  }
  ptx::wgmma_commit();
}

// One output tile: `k_blocks` >= 1 stages from `cursor` on. `first_row`: this consumer's rows of the tile.
// `issued` is called when the last wgmma is on its way.
template <typename G, typename Issued>
__device__ __forceinline__ void multiply_tile(Accumulators<G>& acc, const SharedLayout<G>& shared,
                                              RingCursor<G::kStages>& cursor, int k_blocks, int first_row,
                                              const Issued& issued) {
  wait_for_stage(shared, cursor);
  multiply_stage<true, G>(acc, shared, cursor.stage, first_row);
  int in_flight = cursor.stage;
  cursor.advance();

#pragma unroll 1  // also when K is known: copies of the addresses would cost registers
  for (int block = 1; block < k_blocks; ++block) {
    wait_for_stage(shared, cursor);
    multiply_stage<false, G>(acc, shared, cursor.stage, first_row);
    ptx::wgmma_wait<1>();  // the newest group keeps the tensor cores busy while the one before is released
    release_stage(shared, in_flight);
    in_flight = cursor.stage;
    cursor.advance();
  }

  issued();
  ptx::wgmma_wait<0>();
  release_stage(shared, in_flight);
#pragma unroll
  for (int block = 0; block < G::kBlocksM; ++block) ptx::pin_accumulators(acc[block]);
}

}  // namespace autokernel::sm90
