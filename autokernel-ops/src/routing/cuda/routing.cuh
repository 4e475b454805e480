// Which experts compute each token, and all choices in the order of their experts: a counting sort by two kernels.
//
// The blocks of both share the tokens alike: each has consecutive tiles of 32. The first kernel has a warp find the experts of a
// token and leaves, for each block, how many of its tokens each expert has. The second one adds these up: where an expert's rows
// begin, and where those of this block's tokens do among them. Within a tile a word of each expert has a bit for each of its tokens,
// and so a token's place among them is a count of bits. An expert's tokens stand in their order, whatever ran when.
//
// scores[token][expert], weights[choice][token], rows[choice][token]; order is read on from one of its rows to the next.
#pragma once

#include "fast_math.cuh"
#include "ptx/warp.cuh"
#include "routing_scores.cuh"
#include "types.cuh"

namespace autokernel::routing {

template <typename Problem, typename Schedule, typename Args>
struct Routing {
  static constexpr int kExperts = Problem::kExperts;
  static constexpr int kTopK = Problem::kTopK;
  static constexpr int kThreads = Schedule::kThreads;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kPerLane = ceil_div(kExperts, kWarpSize);
  static constexpr int kTile = 32;  // tokens; the bits of a word
  static_assert(kTopK <= kWarpSize && kTopK <= kExperts, "a lane holds a choice");

  // The tokens of a block.
  struct Share {
    int begin, end;

    __device__ __forceinline__ static Share of(const Args& args) {
      const int tiles = ceil_div(args.tokens, kTile);
      const int each = ceil_div(tiles, int(gridDim.x)) * kTile;
      return {min(int(blockIdx.x) * each, args.tokens), min((int(blockIdx.x) + 1) * each, args.tokens)};
    }
  };

  __device__ __forceinline__ static int* counts(const Args& args) { return static_cast<int*>(args.counts); }
  __device__ __forceinline__ static int& row_of(const Args& args, int choice, int token) {
    return static_cast<int*>(args.rows)[choice * args.rows_stride + token];
  }

  // The experts of each token, for now in the place of its rows, their weights, and how many tokens of this block each expert has.
  __device__ __forceinline__ static void choose(const Args& args) {
    __shared__ int of_block[kExperts];
    for (int expert = threadIdx.x; expert < kExperts; expert += kThreads) of_block[expert] = 0;
    __syncthreads();
    if constexpr (Schedule::kOverlaps) ptx::wait_for_previous_grids();
    const int lane = threadIdx.x % kWarpSize;
    const Share share = Share::of(args);
#pragma unroll 1
    for (int token = share.begin + int(threadIdx.x) / kWarpSize; token < share.end; token += kWarps) {
      const Choice choice = choose_of(args, token, lane);
      if (lane < kTopK) {
        row_of(args, lane, token) = choice.expert;
        static_cast<float*>(args.weights)[lane * args.weights_stride + token] = choice.weight;
        ptx::add_shared(ptx::shared_address(&of_block[choice.expert]), 1);
      }
    }
    __syncthreads();
    for (int expert = threadIdx.x; expert < kExperts; expert += kThreads) {
      counts(args)[int64_t(blockIdx.x) * kExperts + expert] = of_block[expert];
    }
  }

  // Where the rows of each expert begin, the row of each choice, and the token of each row.
  __device__ __forceinline__ static void sort(const Args& args) {
    __shared__ int next[kExperts];     // the row of this block's next token of each expert
    __shared__ int totals[kExperts];   // tokens of each expert
    __shared__ uint32_t tile[kExperts];  // the tile's tokens of each expert, a bit each
    for (int expert = threadIdx.x; expert < kExperts; expert += kThreads) next[expert] = totals[expert] = tile[expert] = 0;
    __syncthreads();
    if constexpr (Schedule::kOverlaps) ptx::wait_for_previous_grids();
    if (int64_t{args.tokens} * kTopK > INT32_MAX) return;  // rows that cannot be numbered: nothing is written
    add_up(args, next, totals);
    __syncthreads();
    if (threadIdx.x < kWarpSize) lay_out(args, next, totals);
    __syncthreads();

    const int lane = threadIdx.x % kWarpSize;
    const Share share = Share::of(args);
#pragma unroll 1
    for (int first = share.begin; first < share.end; first += kTile) {
      const int token = first + lane;
      each_choice(token < share.end, [&](int choice) {
        ptx::set_bits_shared(ptx::shared_address(&tile[row_of(args, choice, token)]), 1u << lane);
      });
      __syncthreads();
      each_choice(token < share.end, [&](int choice) {
        int& row = row_of(args, choice, token);
        const int expert = row;
        row = next[expert] + ptx::count_bits(tile[expert] & ((1u << lane) - 1));
        static_cast<int*>(args.order)[row / args.tokens * args.order_stride + row % args.tokens] = token;
      });
      __syncthreads();
      for (int expert = threadIdx.x; expert < kExperts; expert += kThreads) {
        next[expert] += ptx::count_bits(tile[expert]);
        tile[expert] = 0;
      }
      __syncthreads();
    }
  }

 private:
  struct Choice {
    int expert;
    float weight;
  };

  // Lane number i gets the choice with that number, of the i-th greatest score; of equal ones the first expert comes first.
  __device__ __forceinline__ static Choice choose_of(const Args& args, int token, int lane) {
    const auto* scores = static_cast<const typename Problem::Score*>(args.scores) + token * args.scores_stride;
    uint32_t keys[kPerLane];  // of the experts lane, lane + 32, ...
    float of_all[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int expert = i * kWarpSize + lane;
      of_all[i] = expert < kExperts ? to_f32(scores[expert]) : 0.0f;
      keys[i] = expert < kExperts ? key_of(of_all[i]) : kTaken;
    }
    int expert = 0;
    float score = 0.0f, most = 0.0f;
#pragma unroll 1
    for (int choice = 0; choice < kTopK; ++choice) {
      uint32_t best = kTaken;
      int place = 0;
#pragma unroll
      for (int i = kPerLane - 1; i >= 0; --i) {
        if (keys[i] >= best) best = keys[i], place = i;
      }
      const uint32_t greatest = ptx::warp_max(best);
      const int chosen = int(ptx::warp_min(best == greatest ? place * kWarpSize + lane : ~0u));
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        if (i * kWarpSize + lane == chosen) keys[i] = kTaken;
      }
      if (choice == 0) most = score_of(greatest);
      if (lane == choice) expert = chosen, score = score_of(greatest);
    }
    const float share = fast_math::exp(score - most);
    float sum = lane < kTopK ? share : 0.0f;
    if constexpr (Problem::kOverAll) {
      sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        if (i * kWarpSize + lane < kExperts) sum += fast_math::exp(of_all[i] - most);
      }
    }
#pragma unroll
    for (int mask = kWarpSize / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
    return {expert, fast_math::quotient(share, sum)};
  }

  // Of each expert: the tokens of all blocks, and of those before this one.
  __device__ __forceinline__ static void add_up(const Args& args, int* before, int* totals) {
    const int all = int(gridDim.x) * kExperts, own = int(blockIdx.x) * kExperts;
#pragma unroll 4
    for (int at = threadIdx.x; at < all; at += kThreads) {
      const int count = counts(args)[at];
      if (count == 0) continue;
      ptx::add_shared(ptx::shared_address(&totals[at % kExperts]), count);
      if (at < own) ptx::add_shared(ptx::shared_address(&before[at % kExperts]), count);
    }
  }

  // Adds where each expert's rows begin to what is before this block's, and the first block says where. By one warp.
  __device__ __forceinline__ static void lay_out(const Args& args, int* next, const int* totals) {
    const int lane = threadIdx.x;
    int* const offsets = blockIdx.x == 0 ? static_cast<int*>(args.offsets) : nullptr;
    int begin = 0;
#pragma unroll 1
    for (int first = 0; first < kExperts; first += kWarpSize) {
      const int expert = first + lane;
      const int own = expert < kExperts ? totals[expert] : 0;
      int end = own;
#pragma unroll
      for (int distance = 1; distance < kWarpSize; distance *= 2) {
        const int other = __shfl_up_sync(~0u, end, distance);
        if (lane >= distance) end += other;
      }
      if (expert < kExperts) {
        next[expert] += begin + end - own;
        if (offsets != nullptr) offsets[expert] = begin + end - own;
      }
      begin += __shfl_sync(~0u, end, kWarpSize - 1);
    }
    if (offsets != nullptr && lane == 0) offsets[kExperts] = begin;
  }

  // The choices of a lane's token, a warp each.
  template <typename Visit>
  __device__ __forceinline__ static void each_choice(bool is_there, const Visit& visit) {
    for (int choice = threadIdx.x / kWarpSize; choice < kTopK; choice += kWarps) {
      if (is_there) visit(choice);
    }
  }
};

}  // namespace autokernel::routing
