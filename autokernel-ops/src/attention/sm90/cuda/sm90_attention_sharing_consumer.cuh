// A consumer of shares: a warpgroup that computes 64 packed rows, of which it sees all keys or a part.
#pragma once

#include "attention_finish.cuh"
#include "sm90_attention_multiplier.cuh"
#include "sm90_attention_packed.cuh"

namespace autokernel::attention {

template <typename G>
struct SharingConsumer {
  using M = Multiplier<G>;
  using Input = typename G::Input;
  using Rows = PackedRows<G>;
  using PieceEnd = Finish<G, G::kConsumers>;
  // Behind what all kernels have there: for each consumer, whether it came last.
  static constexpr int kVerdictsAt = Shared<G>::kSlotsAt + kSlots * G::kSlotBytes;
  static constexpr int kSharedBytes = Shared<G>::kBytes + G::kConsumers * 4;
  // Behind those of turns and of clearing values.
  static constexpr int kFirstBarrier = Turns<G>::kFirstBarrier + G::kConsumers + 1;

  M multiplier;
  PieceEnd finish;

  template <typename Args>
  __device__ __forceinline__ SharingConsumer(const Args& args, const Shared<G>& shared, int consumer)
      : multiplier(shared, consumer),
        finish(args, consumer, shared.base + kVerdictsAt + consumer * 4, kFirstBarrier + consumer) {}

  template <typename Args>
  __device__ __forceinline__ void run(const Args& args, const Share<G>& share) {
    share.for_each_piece(args, [&](const auto& piece) { compute(args, share, piece); });
  }

 private:
  template <typename Args, typename Piece>
  __device__ __forceinline__ void compute(const Args& args, const Share<G>& share, const Piece& piece) {
    const Rows rows(piece, share.line, multiplier.consumer);
    const KeysOf<typename G::Problem> keys(piece.sequence.queries, piece.sequence.keys);
    const Scores<typename G::Problem, Rows> score(args, rows, piece.sequence.number, keys.offset);
    SoftmaxOf<G> softmax(score.scale * kLog2E);
    const Owners owners = share.owners(piece);  // found while the first keys are on their way
    float sums[M::kSums];
#pragma unroll
    for (int i = 0; i < M::kSums; ++i) sums[i] = 0.0f;
    if (piece.blocks.count() != 0) {
      meet();  // all warps have read the queries before
      load_queries(args, rows, multiplier.shared.queries(multiplier.consumer));
      ptx::fence_async_proxy();
      meet();
      multiplier.template attend<false>(softmax, sums, score, keys, piece.blocks, rows, [] {});
    }

    finish.run(args, owners, piece, rows, softmax, sums);
  }

  __device__ __forceinline__ void meet() const {
    wait_for_warpgroup(finish.barrier);
  }
};

}  // namespace autokernel::attention
