// A consumer: a warpgroup that computes 64 rows of the output, queries of one head.
#pragma once

#include "attention_store.cuh"
#include "sm90_attention_multiplier.cuh"
#include "sm90_attention_walk.cuh"

namespace autokernel::attention {

template <typename G>
struct Consumer {
  using M = Multiplier<G>;
  // Behind those of turns and of clearing values.
  static constexpr int kFirstBarrier = Turns<G>::kFirstBarrier + G::kConsumers + 1;

  M multiplier;
  uint32_t query_parity = 0;
  Cursor<kSlots> slot_cursor;

  __device__ __forceinline__ Consumer(const Shared<G>& shared, int consumer) : multiplier(shared, consumer) {}

  template <typename Args>
  __device__ __forceinline__ void run(const Args& args) {
    for_each_tile<G>(
        args, [&](const Tile& tile, const auto& blocks) { compute(args, tile, blocks); }, [&] { return next_tile(); });
  }

 private:
  template <typename Args, typename Blocks>
  __device__ __forceinline__ void compute(const Args& args, const Tile& tile, const Blocks& blocks) {
    const RowsOfHead rows{tile, tile.first_query + multiplier.consumer * kRowsOfWarpgroup};
    const KeysOf<typename G::Problem> keys(args.queries, args.keys);
    const Scores<typename G::Problem, RowsOfHead> score(args, rows, tile.batch, keys.offset);
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

  __device__ __forceinline__ uint32_t next_tile() {
    const Shared<G>& shared = multiplier.shared;
    const Barriers barriers = shared.slot_barriers();
    uint32_t number = 0;
    ptx::mbarrier_wait(barriers.full(slot_cursor.stage), slot_cursor.parity);
    if (threadIdx.x % kWarpSize == 0) ptx::load_shared(shared.slot(slot_cursor.stage), number);
    release(barriers.empty(slot_cursor.stage));  // by the lane that has read it
    slot_cursor.advance();
    return __shfl_sync(0xffffffffu, number, 0);
  }
};

}  // namespace autokernel::attention
