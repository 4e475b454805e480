// Routing by one block, with nothing shared: what the kernels are held against. Results are fp32.
#pragma once

#include "routing_scores.cuh"
#include "types.cuh"

namespace autokernel::reference_routing {

using namespace autokernel::routing;

// Whether `expert` comes before `other` among a token's experts.
template <typename Score>
__device__ __forceinline__ bool is_before(const Score* scores, int expert, int other) {
  const uint32_t key = key_of(to_f32(scores[expert])), against = key_of(to_f32(scores[other]));
  return key > against || (key == against && expert < other);
}

template <typename Problem, typename Args>
__device__ __forceinline__ void route(const Args& args) {
  constexpr int kExperts = Problem::kExperts, kTopK = Problem::kTopK;
  auto* rows = static_cast<float*>(args.rows);
  auto* offsets = static_cast<float*>(args.offsets);
  // Each token's experts by their rank, for now in the place of its rows.
  for (int token = threadIdx.x; token < args.tokens; token += blockDim.x) {
    const auto* scores = static_cast<const typename Problem::Score*>(args.scores) + token * args.scores_stride;
    float most = to_f32(scores[0]);
    for (int expert = 0; expert < kExperts; ++expert) {
      int rank = 0;
      for (int other = 0; other < kExperts; ++other) rank += other != expert && is_before(scores, other, expert);
      if (rank == 0) most = to_f32(scores[expert]);
      if (rank < kTopK) rows[rank * args.rows_stride + token] = float(expert);
    }
    double sum = 0.0;
    const auto exponential = [&](int expert) { return double(expf(to_f32(scores[expert]) - most)); };
    for (int at = 0; at < (Problem::kOverAll ? kExperts : kTopK); ++at) {
      sum += exponential(Problem::kOverAll ? at : int(rows[at * args.rows_stride + token]));
    }
    for (int choice = 0; choice < kTopK; ++choice) {
      static_cast<float*>(args.weights)[choice * args.weights_stride + token] =
          float(exponential(int(rows[choice * args.rows_stride + token])) / sum);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  // A thread goes over all choices for each expert; a chosen expert is told from a row by its sign.
  int row = 0;
  for (int64_t at = 0; at < int64_t(kTopK) * args.tokens; ++at) {
    float& place = rows[at / args.tokens * args.rows_stride + at % args.tokens];
    place = -1.0f - place;
  }
  for (int expert = 0; expert < kExperts; ++expert) {
    offsets[expert] = float(row);
    for (int token = 0; token < args.tokens; ++token) {
      for (int choice = 0; choice < kTopK; ++choice) {
        float& place = rows[choice * args.rows_stride + token];
        if (place != -1.0f - float(expert)) continue;
        static_cast<float*>(args.order)[row / args.tokens * args.order_stride + row % args.tokens] = float(token);
        place = float(row++);
      }
    }
  }
  offsets[kExperts] = float(row);
}

}  // namespace autokernel::reference_routing
