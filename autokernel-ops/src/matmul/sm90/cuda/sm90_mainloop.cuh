// The main loop of a consumer warpgroup: stages in, accumulators out.
#pragma once

#include "ptx/sm90_wgmma.cuh"
#include "sm90_pipeline.cuh"

namespace autokernel::sm90 {

template <typename G>
using Accumulators = typename G::Sum[G::kBlocks][G::kWidth / 2];

// The second product's sums at the places that the first one's in `sums.blocks[block]` have: wgmma leaves a lane the same part of each
// block, and of each 8 columns of its width.
template <typename G>
__device__ __forceinline__ const float* second_sums(const WholeSums<G>& sums, int block) {
  if constexpr (G::kSwapAB) return sums.blocks[block + G::kBlocksOfOne];
  return sums.blocks[block] + G::kWidthOfOne / 2;
}

// How wgmma reads an operand of the stage: where it advances by one k step, and its matrix descriptor.
template <bool kMajorMN>
struct StageOperand {
  static constexpr uint32_t kStep = kMajorMN ? kStepMajorMN : kStepMajorK;
  Descriptor descriptor;

  __device__ __forceinline__ explicit StageOperand(uint32_t address)
      : descriptor(kMajorMN ? kDescriptorMajorMN : kDescriptorMajorK, address) {}
};

// Issues and commits the wgmmas of one stage. `kFirst` overwrites the accumulators, so nothing clears them.
// `first`: the row of the blocks' side at which this consumer begins.
template <bool kFirst, typename G>
__device__ __forceinline__ void multiply_stage(Accumulators<G>& acc, const SharedLayout<G>& shared, int stage,
                                               int first) {
  // Swapped, the blocks are columns of B: a small M costs no more than its own width of wgmma.
  constexpr bool kBlocksMajorMN = G::kSwapAB ? G::kBMajorN : G::kAMajorM;
  constexpr bool kWidthMajorMN = G::kSwapAB ? G::kAMajorM : G::kBMajorN;
  using Blocks = StageOperand<kBlocksMajorMN>;
  using Width = StageOperand<kWidthMajorMN>;
  using Multiply = ptx::Wgmma<typename G::Input, kBlocksMajorMN, kWidthMajorMN, G::kWidth>;
  // The same in both layouts: across K a block is one panel.
  constexpr uint32_t kBlockStep = kBlockM * kSwizzleBytes >> kUnitShift;
  constexpr uint32_t kProductStep = G::kColumns * kSwizzleBytes >> kUnitShift;  // swapped, blocks are of either product
  const auto block_step = [](int block) {
    return block % G::kBlocksOfOne * kBlockStep + block / G::kBlocksOfOne * kProductStep;
  };

  // One descriptor an operand and stage; the k and block steps only add to its address field.
  const Blocks blocks((G::kSwapAB ? shared.b(stage) : shared.a(stage)) + first * kSwizzleBytes);
  const Width width(G::kSwapAB ? shared.a(stage) : shared.b(stage));

  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSwizzleBytes / kBlockDepthBytes; ++k) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
      Multiply::run(acc[block], blocks.descriptor.at(block_step(block) + k * Blocks::kStep),
                    width.descriptor.at(k * Width::kStep), !kFirst || k > 0);
    }
  }
  ptx::wgmma_commit();
}

// One output tile: `k_blocks` >= 1 stages from `cursor` on.
// `issued` is called when the last wgmma is on its way.
template <typename G, typename Issued>
__device__ __forceinline__ void multiply_tile(Accumulators<G>& acc, const SharedLayout<G>& shared,
                                              RingCursor<G::kStages>& cursor, int k_blocks, int first,
                                              const Issued& issued) {
  wait_for_stage(shared, cursor);
  multiply_stage<true, G>(acc, shared, cursor.stage, first);
  int in_flight = cursor.stage;
  cursor.advance();

#pragma unroll 1  // also when K is known: copies of the addresses would cost registers
  for (int block = 1; block < k_blocks; ++block) {
    wait_for_stage(shared, cursor);
    multiply_stage<false, G>(acc, shared, cursor.stage, first);
    ptx::wgmma_wait<1>();  // the newest group keeps the tensor cores busy while the one before is released
    release_stage(shared, in_flight);
    in_flight = cursor.stage;
    cursor.advance();
  }

  issued();
  ptx::wgmma_wait<0>();
  release_stage(shared, in_flight);
#pragma unroll
  for (int block = 0; block < G::kBlocks; ++block) ptx::pin_accumulators(acc[block]);
}

}  // namespace autokernel::sm90
