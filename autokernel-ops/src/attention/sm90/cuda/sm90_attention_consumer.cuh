// A consumer: a warpgroup that computes 64 rows of the output.
//
// Scores of one block of keys are multiplied while the softmax of the block before is still computed: S(j + 1) = Q K(j + 1)
// and O += P(j) V(j) are under way together, and the softmax of S(j + 1) begins when S(j + 1) is there, whether or not O is.
// With two or three consumers they take turns to issue (ping-pong), so that one's softmax runs beside another's products.
#pragma once

#include "attention_score.cuh"
#include "sm90_attention_geometry.cuh"
#include "sm90_attention_softmax.cuh"
#include "sm90_attention_store.cuh"
#include "sm90_attention_tiles.cuh"

namespace autokernel::attention {

// Turns of consumers to issue their products. The first has its turn from the beginning.
template <typename G>
struct Turns {
  static constexpr int kThreads = 2 * kWarpgroupSize;  // one waits, the one before arrives
  static constexpr int kFirstBarrier = 1;              // 0 is __syncthreads
  int consumer;

  __device__ __forceinline__ explicit Turns(int consumer) : consumer(consumer) {
    if (G::kPingPong && consumer == G::kConsumers - 1) pass();
  }
  __device__ __forceinline__ void wait() const {
    if constexpr (G::kPingPong) ptx::named_barrier_wait(kFirstBarrier + consumer, kThreads);
  }
  __device__ __forceinline__ void pass() const {
    if constexpr (G::kPingPong) {
      ptx::named_barrier_arrive(kFirstBarrier + (consumer + 1) % G::kConsumers, kThreads);
    }
  }
};

template <typename G>
struct Consumer {
  using Input = typename G::Input;
  static constexpr int kScores = G::kTileKeys / 2;
  static constexpr int kSums = G::kValueDim / 2;
  // Where sums are many, they are rescaled while the tensor cores compute scores.
  static constexpr bool kRescaleFirst = G::kValueDim > 128;

  Shared<G> shared;
  int consumer;
  Turns<G> turns;
  uint32_t query_parity = 0;
  Cursor<G::kStages> key_cursor;
  Cursor<G::kStages> value_cursor;
  Cursor<kSlots> slot_cursor;

  __device__ __forceinline__ Consumer(const Shared<G>& shared, int consumer)
      : shared(shared), consumer(consumer), turns(consumer) {}

  template <typename Args>
  __device__ __forceinline__ void run(const Args& args) {
    for_each_tile<G>(
        args, [&](const Tile& tile, const auto& blocks) { compute(args, tile, blocks); }, [&] { return next_tile(); });
  }

 private:
  template <typename Args, typename Blocks>
  __device__ __forceinline__ void compute(const Args& args, const Tile& tile, const Blocks& blocks) {
    constexpr float kLog2E = 1.44269504088896341f;
    const int first_query = tile.first_query + consumer * kRowsOfWarpgroup;
    const KeysOf<typename G::Problem> keys(args.queries, args.keys);
    const Scores<typename G::Problem> score(args, tile.batch, tile.head);
    Softmax softmax(Scores<typename G::Problem>::kScale * kLog2E);
    float sums[kSums];
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = 0.0f;
    if (blocks.count() != 0) attend(softmax, sums, score, keys, blocks, first_query);

    const float inverse[kRowsOfThread] = {softmax.inverse_sum(0), softmax.inverse_sum(1)};
    scale_rows(sums, inverse);
    store_rows<G>(args, tile, first_query, sums);
    if constexpr (G::Problem::kLse) store_lse<G>(args, tile, first_query, softmax);
  }

  __device__ __forceinline__ uint32_t next_tile() {
    const Barriers barriers = shared.slot_barriers();
    uint32_t number = 0;
    ptx::mbarrier_wait(barriers.full(slot_cursor.stage), slot_cursor.parity);
    if (threadIdx.x % kWarpSize == 0) ptx::load_shared(shared.slot(slot_cursor.stage), number);
    release(barriers.empty(slot_cursor.stage));  // by the lane that has read it
    slot_cursor.advance();
    return __shfl_sync(0xffffffffu, number, 0);
  }

  template <typename Keys, typename Blocks>
  __device__ __forceinline__ void attend(Softmax& softmax, float (&sums)[kSums],
                                         const Scores<typename G::Problem>& score, const Keys& keys,
                                         const Blocks& blocks, int first_query) {
    float correction[kRowsOfThread] = {1.0f, 1.0f};
    uint32_t weights[kScores / 2];
    int block = blocks.last - 1;

    ptx::mbarrier_wait(shared.query_barriers().full(consumer), query_parity);
    {
      float scores[kScores];
      wait_for_keys();
      multiply_keys(scores);
      ptx::wgmma_wait<0>();
      ptx::pin_accumulators(scores);
      release_keys();
      score.change(scores, first_query, block * G::kTileKeys);
      mask(scores, keys, first_query, block * G::kTileKeys);
      softmax.template add<true, true>(scores, correction);
      pack_weights<Input>(scores, weights);
    }
    const auto step = [&](auto masked) {
      constexpr bool kMasked = decltype(masked)::value;
      float scores[kScores];
      wait_for_keys();
      turns.wait();
      multiply_keys(scores);
      if constexpr (kRescaleFirst) scale_rows(sums, correction);
      wait_for_values();
      multiply_values(sums, weights);
      turns.pass();
      ptx::wgmma_wait<1>();
      ptx::pin_accumulators(scores);
      release_keys();
      score.change(scores, first_query, block * G::kTileKeys);
      if constexpr (kMasked) mask(scores, keys, first_query, block * G::kTileKeys);
      softmax.template add<false, kMasked>(scores, correction);
      ptx::wgmma_wait<0>();
      ptx::pin_accumulators(sums);
      release_values();
      pack_weights<Input>(scores, weights);
      if constexpr (!kRescaleFirst) scale_rows(sums, correction);
    };
    for (--block; block >= max(blocks.inner_last, blocks.first); --block) step(Masked<true>{});
    for (; block >= blocks.inner_first; --block) step(Masked<false>{});
    if constexpr (G::Problem::kWindow != 0) {
      for (; block >= blocks.first; --block) step(Masked<true>{});
    }
    release_queries();
    if constexpr (kRescaleFirst) scale_rows(sums, correction);
    wait_for_values();
    multiply_values(sums, weights);
    softmax.finish();
    ptx::wgmma_wait<0>();
    ptx::pin_accumulators(sums);
    release_values();
  }

  template <bool kValue>
  struct Masked {
    static constexpr bool value = kValue;
  };

  // scores = Q K^T of the block of keys under the cursor, which is under way when this returns.
  __device__ __forceinline__ void multiply_keys(float (&scores)[kScores]) {
    const ptx::MatrixDescriptor<0> q(shared.queries(consumer));
    const ptx::MatrixDescriptor<0> k(shared.keys(key_cursor.stage));
    ptx::forget_accumulators(scores);
    ptx::wgmma_fence();
#pragma unroll
    for (int depth = 0; depth < G::kHeadDim; depth += kDepth) {
      const int panel = depth / kPanel;
      const int within = depth % kPanel * int{sizeof(Input)};
      ptx::Wgmma<Input, false, false, G::kTileKeys>::run(scores, q.at(panel * G::kQueryPanelBytes + within),
                                                         k.at(panel * G::kKeyPanelBytes + within), depth != 0);
    }
    ptx::wgmma_commit();
  }

  // sums += P V of the block of values under the cursor, which is under way when this returns.
  __device__ __forceinline__ void multiply_values(float (&sums)[kSums], const uint32_t (&weights)[kScores / 2]) {
    const ptx::MatrixDescriptor<G::kKeyPanelBytes> v(shared.values(value_cursor.stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int depth = 0; depth < G::kTileKeys; depth += kDepth) {
      ptx::WgmmaRegisters<Input, true, G::kValueDim>::run(sums, weights + depth / 4,
                                                          v.at(depth * ptx::kSwizzledRowBytes));
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ void wait_for_keys() const {
    ptx::mbarrier_wait(shared.key_barriers().full(key_cursor.stage), key_cursor.parity);
  }
  __device__ __forceinline__ void wait_for_values() const {
    ptx::mbarrier_wait(shared.value_barriers().full(value_cursor.stage), value_cursor.parity);
  }
  __device__ __forceinline__ void release_keys() {
    release(shared.key_barriers().empty(key_cursor.stage));
    key_cursor.advance();
  }
  __device__ __forceinline__ void release_values() {
    release(shared.value_barriers().empty(value_cursor.stage));
    value_cursor.advance();
  }
  __device__ __forceinline__ void release_queries() {
    release(shared.query_barriers().empty(consumer));
    query_parity ^= 1;
  }
  __device__ __forceinline__ static void release(uint32_t barrier) {
    if (threadIdx.x % kWarpSize == 0) ptx::mbarrier_arrive(barrier);
  }
};

}  // namespace autokernel::attention
