// A consumer of shares: a warpgroup that computes 64 packed rows, of which it sees all keys or a part.
#pragma once

#include "sm90_attention_multiplier.cuh"
#include "attention_partials.cuh"
#include "sm90_attention_packed.cuh"
#include "sm90_attention_store.cuh"

namespace autokernel::attention {

template <typename G>
struct SharingConsumer {
  using M = Multiplier<G>;
  using Input = typename G::Input;
  using Rows = PackedRows<G>;
  using Parts = Partials<kRowsOfWarpgroup, G::kValueDim, G::kConsumers>;
  // Behind what all kernels have there: for each consumer, whether it came last.
  static constexpr int kVerdictsAt = Shared<G>::kSlotsAt + kSlots * 4;
  static constexpr int kSharedBytes = Shared<G>::kBytes + G::kConsumers * 4;
  // Behind those of turns and of clearing values.
  static constexpr int kFirstBarrier = Turns<G>::kFirstBarrier + G::kConsumers + 1;

  M multiplier;
  Parts parts;

  template <typename Args>
  __device__ __forceinline__ SharingConsumer(const Args& args, const Shared<G>& shared, int consumer)
      : multiplier(shared, consumer), parts(args, consumer) {}

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
    Softmax<G::Problem::kScored> softmax(score.kScale * kLog2E);
    float sums[M::kSums];
#pragma unroll
    for (int i = 0; i < M::kSums; ++i) sums[i] = 0.0f;
    if (piece.blocks.count() != 0) {
      meet();  // all warps have read the queries before
      load_queries(args, rows, multiplier.shared.queries(multiplier.consumer));
      ptx::fence_async_proxy();
      meet();
      multiplier.attend(softmax, sums, score, keys, piece.blocks, rows, [] {});
    }

    const int64_t tile = share.begin + piece.first_in_line();
    const int first = share.line.owner(tile);
    const int count = share.line.owner(tile + piece.tile_blocks - 1) - first + 1;
    if (count > 1) {
      leave(rows, softmax, sums, piece.before != 0);
      if (is_last(first, count)) combine(args, rows, softmax.scale, first, count);
      return;
    }
    const float inverse[kRowsOfThread] = {softmax.inverse_sum(0), softmax.inverse_sum(1)};
    scale_rows(sums, inverse);
    store_rows<G>(args, rows, sums);
    if constexpr (G::Problem::kLse) store_lse(args, rows, softmax);
  }

  __device__ __forceinline__ void leave(const Rows& rows, const Softmax<G::Problem::kScored>& softmax,
                                        const float (&sums)[M::kSums], bool begun_before) const {
    float* const part = parts.part(blockIdx.x, begun_before);
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) {
      if (!rows.is_there(row)) continue;
      const int number = row_of_thread() + 8 * row;
      float* const line = part + number * G::kValueDim + threadIdx.x % 4 * 2;
#pragma unroll
      for (int i = 0; i < M::kSums; i += 4) store_l2(line + 2 * i, {sums[i + 2 * row], sums[i + 2 * row + 1]});
      if (threadIdx.x % 4 == 0) store_l2(Parts::state(part, number), {softmax.max[row], softmax.sum[row]});
    }
  }

  // Whether the parts of all others are there. Who is last leaves the counter at zero.
  __device__ __forceinline__ bool is_last(int first, int count) const {
    const uint32_t verdict = multiplier.shared.base + kVerdictsAt + multiplier.consumer * 4;
    meet();  // what one thread says is of what all wrote
    if (threadIdx.x % kWarpgroupSize == 0) {
      uint32_t* const counter = parts.counter(first);
      const bool last = ptx::fetch_add_ordered(counter, 1) == static_cast<uint32_t>(count - 1);
      if (last) *counter = 0;
      ptx::store_shared(verdict, __uint_as_float(last));
    }
    meet();
    uint32_t last;
    ptx::load_shared(verdict, last);
    return last != 0;
  }

  template <typename Args>
  __device__ __forceinline__ void combine(const Args& args, const Rows& rows, float scale, int first, int count) const {
    parts.combine(first, count, rows.count, scale, [&](int row, int column, const float4& out, float lse) {
      const auto at = rows.at(row);
      uint2 words = {pack2<Input>(out.x, out.y), pack2<Input>(out.z, out.w)};
      *reinterpret_cast<uint2*>(static_cast<Input*>(args.out) + at.in_out(args) + column) = words;
      if constexpr (G::Problem::kLse) {
        if (column == 0) static_cast<float*>(args.lse)[at.in_lse(args)] = lse;
      }
    });
  }

  __device__ __forceinline__ void meet() const {
    ptx::named_barrier_wait(kFirstBarrier + multiplier.consumer, kWarpgroupSize);
  }
};

}  // namespace autokernel::attention
