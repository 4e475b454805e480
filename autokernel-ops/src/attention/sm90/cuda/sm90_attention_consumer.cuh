// A consumer: a warpgroup that computes 64 rows of the output, queries of one head.
#pragma once

#include "attention_store.cuh"
#include "sm90_attention_multiplier.cuh"
#include "sm90_attention_packed_walk.cuh"
#include "sm90_attention_walk.cuh"

namespace autokernel::attention {

template <typename G>
struct Consumer {
  using M = Multiplier<G>;
  using Rows = RowsOfHead<typename G::Sequences>;
  // Behind those of turns and of clearing values.
  static constexpr int kFirstBarrier = Turns<G>::kFirstBarrier + G::kConsumers + 1;

  M multiplier;
  Walk<G> walk;
  uint32_t query_parity = 0;

  __device__ __forceinline__ Consumer(const Shared<G>& shared, int consumer) : multiplier(shared, consumer), walk(shared) {}

  template <typename Args>
  __device__ __forceinline__ void run(const Args& args) {
    walk.follow(args, [&](const Tile& tile, const auto& blocks) { compute(args, tile, blocks); });
  }

 private:
  template <typename Args, typename Blocks>
  __device__ __forceinline__ void compute(const Args& args, const Tile& tile, const Blocks& blocks) {
    const Rows rows{tile, tile.first_query + multiplier.consumer * kRowsOfWarpgroup};
    const auto keys = keys_of<G>(tile);
    const Scores<typename G::Problem, Rows> score(args, rows, tile.sequence.number, keys.offset);
    SoftmaxOf<G> softmax(score.scale * kLog2E);
    float sums[M::kSums];
#pragma unroll
    for (int i = 0; i < M::kSums; ++i) sums[i] = 0.0f;
    if (blocks.count() != 0) {
      if constexpr (G::kSteps) {
        Steps<G>(multiplier.shared).set(multiplier.consumer, score.step(), kFirstBarrier + multiplier.consumer);
        softmax.climb = score.step() * G::kTileKeys;
      }
      const Barriers barriers = multiplier.shared.query_barriers();
      ptx::mbarrier_wait(barriers.full(multiplier.consumer), query_parity);
      const auto queries_read = [&] {
        release(barriers.empty(multiplier.consumer));
        query_parity ^= 1;
      };
      if (softmax.is_narrow()) {
        multiplier.template attend<SoftmaxOf<G>::kMayStayWithin>(softmax, sums, score, keys, blocks, rows, queries_read);
      } else {
        multiplier.template attend<false>(softmax, sums, score, keys, blocks, rows, queries_read);
      }
    }

    store_results<G>(args, rows, softmax, sums);
  }
};

}  // namespace autokernel::attention
