// Attention forward on every GPU from compute capability 8.0 on, where the blocks of the grid share the keys of each tile: for
// few queries on many keys, and for sequences whose lengths the device alone knows.
#pragma once

#include "attention_finish.cuh"
#include "sm80_attention_multiplier.cuh"

namespace autokernel::attention::sm80 {

template <typename Problem, typename Sequences, typename Schedule, typename Args>
struct SharingAttention {
  using G = Geometry<Problem, Sequences, Schedule>;
  static constexpr int kThreads = G::kThreads;
  static constexpr int kBandsOfTile = G::kWarpgroups * G::kBands;
  using Finish = attention::Finish<G, kBandsOfTile>;
  static_assert(!Sequences::kAreWhole || Sequences::kKeys == Keys::kWhole, "of whole sequences tensors say all");
  static_assert(Shared<G>::kBytes <= Schedule::kSharedBytes, "the launch asks for as much shared memory");
  static_assert(Finish::Parts::kBytesOfBlock == Schedule::kPartialBytes, "the workspace has as many");

  __device__ __forceinline__ static void run(const Args& args) {
    extern __shared__ uint8_t memory[];
    const Shared<G> shared(memory);
    const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / kWarpgroupSize, 0);
    const Share<G> share(args);
    share.for_each_piece(args, [&](const auto& piece) { compute(args, shared, warpgroup, share, piece); });
  }

 private:
  static constexpr int kFirstBarrier = 1;  // 0 is __syncthreads

  template <typename Piece>
  __device__ __forceinline__ static void compute(const Args& args, const Shared<G>& shared, int warpgroup,
                                                 const Share<G>& share, const Piece& piece) {
    using Rows = PackedRows<G>;
    with_bands<G>(
        [&](int band) {
          return Band<G, Rows>(args, Rows(piece, share.line, warpgroup * G::kBands + band), piece.sequence);
        },
        [&](auto& bands) {
          if (piece.blocks.count() != 0) {
            __syncthreads();  // all have read what the piece before had on chip
            attend<G>(args, shared, warpgroup, bands, piece.sequence, piece.group, piece.blocks);
          }
#pragma unroll
          for (int band = 0; band < G::kBands; ++band) {
            const Finish finish(args, warpgroup * G::kBands + band, shared.verdict(warpgroup), kFirstBarrier + warpgroup);
            finish.run(args, share.owners(piece), piece, bands[band].rows, bands[band].softmax, bands[band].sums);
          }
        });
  }
};

}  // namespace autokernel::attention::sm80
