// What a warpgroup multiplies: the queries of 64 rows with blocks of keys, and the weights that follow with values.
//
// Scores of one block of keys are multiplied while the softmax of the block before is still computed: S(j + 1) = Q K(j + 1)
// and O += P(j) V(j) are under way together, and the softmax of S(j + 1) begins when S(j + 1) is there, whether or not O is.
// With two or three consumers they take turns to issue (ping-pong), so that one's softmax runs beside another's products.
#pragma once

#include "attention_cap.cuh"
#include "attention_score.cuh"
#include "attention_softmax.cuh"
#include "ptx/sm90_wgmma_registers.cuh"
#include "sm90_attention_steps.cuh"

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
struct Multiplier {
  using Input = typename G::Input;
  static constexpr int kConsumerThreads = G::kConsumers * kWarpgroupSize;
  static constexpr int kScores = G::kTileKeys / 2;
  static constexpr int kSums = G::kValueDim / 2;
  // Where sums are many, they are rescaled while the tensor cores compute scores.
  static constexpr bool kRescaleFirst = G::kValueDim > 128;

  // Of so many blocks one is looked at, where scores are large: that it is small would have to be known before any function is called.
  static constexpr int kUnlikely = 4;

  Shared<G> shared;
  int consumer;
  Turns<G> turns;
  Cursor<G::kStages> key_cursor;
  Cursor<G::kStages> value_cursor;

  __device__ __forceinline__ Multiplier(const Shared<G>& shared, int consumer)
      : shared(shared), consumer(consumer), turns(consumer) {}

  // The softmax of the scores of `rows` with some blocks of keys, one at least, and the sums of values by its weights. Queries are
  // there; `queries_read` is called when they need be no longer. With kWithin shifts need not move (`add_within`).
  template <bool kWithin, typename Keys, typename Blocks, typename Rows, typename QueriesRead>
  __device__ __forceinline__ void attend(SoftmaxOf<G>& softmax, float (&sums)[kSums],
                                         const Scores<typename G::Problem, Rows>& score, const Keys& keys,
                                         const Blocks& blocks, const Rows& rows, QueriesRead queries_read) {
    constexpr bool kBegins = Scores<typename G::Problem, Rows>::kBegins && !G::kSteps;
    float correction[kRowsOfThread] = {1.0f, 1.0f};
    bool moved = !G::kMovesSeldom && !kWithin;  // whether sums are yet to be multiplied by that
    float scores[kScores];
    uint32_t weights[kScores / 2];
    int unlikely = 0;  // blocks whose scores are not looked at, as those of one before were not small
    int block = blocks.last - 1;
    const auto base = [&](int row) {
      if constexpr (G::kSteps) return score.base(rows, row, block * G::kTileKeys);
      else return 0.0f;
    };

    begin(scores, score, rows, block);
    wait_for_keys();
    multiply_keys<kBegins>(scores);
    ptx::wgmma_wait<0>();
    ptx::pin_accumulators(scores);
    release_keys();
    if (!add_small<kWithin, true, true>(unlikely, softmax, scores, score, keys, rows, block)) {
      score.change(scores, rows, block * G::kTileKeys);
      mask(scores, keys, rows, block * G::kTileKeys);
      if constexpr (kWithin) softmax.template add_within<true>(scores, rows);
      else softmax.template add<true, true>(scores, correction, rows, base);
    }
    pack_weights<Input>(scores, weights);
    if constexpr (G::kClearsValues) clear_values(keys.keys - block * G::kTileKeys);
    const auto step = [&](auto masked) {
      constexpr bool kMasked = decltype(masked)::value;
      begin(scores, score, rows, block);
      wait_for_keys();
      turns.wait();
      multiply_keys<kBegins>(scores);
      if (kRescaleFirst && moved) scale_rows(sums, correction);
      wait_for_values();
      multiply_values(sums, weights);
      turns.pass();
      ptx::wgmma_wait<1>();
      ptx::pin_accumulators(scores);
      release_keys();
      if constexpr (G::kSteps) softmax.descend();
      if (!add_small<kWithin, false, kMasked>(unlikely, softmax, scores, score, keys, rows, block)) {
        score.change(scores, rows, block * G::kTileKeys);
        if constexpr (kMasked) mask(scores, keys, rows, block * G::kTileKeys);
        if constexpr (kWithin) softmax.template add_within<false>(scores, rows);
        else moved = softmax.template add<false, kMasked>(scores, correction, rows, base);
      }
      ptx::wgmma_wait<0>();
      ptx::pin_accumulators(sums);
      release_values();
      pack_weights<Input>(scores, weights);
      if (!kRescaleFirst && moved) scale_rows(sums, correction);
    };
    for (--block; block >= max(blocks.inner_last, blocks.first); --block) step(Masked<true>{});
    for (; block >= blocks.inner_first; --block) step(Masked<false>{});
    if constexpr (G::Problem::kWindow != 0) {
      for (; block >= blocks.first; --block) step(Masked<true>{});
    }
    queries_read();
    if (kRescaleFirst && moved) scale_rows(sums, correction);
    wait_for_values();
    multiply_values(sums, weights);
    softmax.finish();
    if constexpr (kWithin) softmax.end_within();
    ptx::wgmma_wait<0>();
    ptx::pin_accumulators(sums);
    release_values();
  }

 private:
  template <bool kValue>
  struct Masked {
    static constexpr bool value = kValue;
  };

  // Adds a block whose scores are small of a cap, which is less work. Whether it is one, for a whole warp.
  template <bool kWithin, bool kFirst, bool kMasked, typename Score, typename Keys, typename Rows>
  __device__ __forceinline__ static bool add_small(int& unlikely, SoftmaxOf<G>& softmax, float (&scores)[kScores],
                                                   const Score& score, const Keys& keys, const Rows& rows, int block) {
    if constexpr (kWithin && Score::kCapped) {
      static_assert(Rows::kFill && Rows::kHeads == 1, "a warp has all of its rows, of one head");
      if (--unlikely > 0) return false;
      const SmallCap cap(softmax.scale, score.steepness);
      if (!cap.serves(scores)) {
        unlikely = kUnlikely;
        return false;
      }
      cap.exponents(scores, softmax.shift_within());
      if constexpr (kMasked) mask(scores, keys, rows, block * G::kTileKeys);
      softmax.template add_exponents<kFirst>(scores);
      return true;
    }
    return false;
  }

  // What scores are before products are added to them.
  template <typename Score, typename Rows>
  __device__ __forceinline__ static void begin(float (&scores)[kScores], const Score& score, const Rows& rows, int block) {
    if constexpr (Score::kBegins && !G::kSteps) {
      ptx::forget_accumulators(scores);
      score.begin(scores, rows, block * G::kTileKeys);
      ptx::pin_accumulators(scores);
    }
  }

  // Q K^T of the block of keys under the cursor, or with kAdds that and what was in `scores`; under way when this returns.
  template <bool kAdds>
  __device__ __forceinline__ void multiply_keys(float (&scores)[kScores]) {
    const ptx::MatrixDescriptor<0> q(shared.queries(consumer));
    const ptx::MatrixDescriptor<0> k(shared.keys(key_cursor.stage));
    if constexpr (!kAdds) ptx::forget_accumulators(scores);
    ptx::wgmma_fence();
#pragma unroll
    for (int depth = 0; depth < G::kHeadDim; depth += kDepth) {
      const int panel = depth / kPanel;
      const int within = depth % kPanel * int{sizeof(Input)};
      ptx::Wgmma<Input, false, false, G::kTileKeys>::run(scores, q.at(panel * G::kQueryPanelBytes + within),
                                                         k.at(panel * G::kKeyPanelBytes + within), kAdds || depth != 0);
    }
    if constexpr (G::kSteps) {
      const ptx::MatrixDescriptor<0> steps(shared.steps());
      ptx::Wgmma<Input, false, false, G::kTileKeys>::run(scores, steps.at(Steps<G>::of_consumer(consumer)),
                                                         steps.at(Steps<G>::kOfKeys), true);
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

  // Sets the values to zero that lie behind the first so many keys of the block under the cursor: what stands there may be no
  // number, which a weight of zero does not hide. All consumers do so together, before any multiplies.
  __device__ __forceinline__ void clear_values(int there) const {
    if (there >= G::kTileKeys) return;
    wait_for_values();
    constexpr int kPieces = ptx::kSwizzledRowBytes / 16;
    const uint32_t stage = shared.values(value_cursor.stage);
    const int thread = consumer * kWarpgroupSize + threadIdx.x % kWarpgroupSize;
    for (int piece = there * kPieces + thread; piece < G::kTileKeys * kPieces; piece += kConsumerThreads) {
#pragma unroll
      for (int panel = 0; panel < G::kValuePanels; ++panel) {
        store_shared(stage + panel * G::kKeyPanelBytes + piece * 16, uint4{0, 0, 0, 0});
      }
    }
    ptx::fence_async_proxy();
    ptx::named_barrier_wait(Turns<G>::kFirstBarrier + G::kConsumers, kConsumerThreads);
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
};

}  // namespace autokernel::attention
