// What a body makes of scores before the softmax, where there is one.
#pragma once

#include "types.cuh"

namespace autokernel::attention {

// The scores of one head. `offset` leads from a query to its place among the keys.
template <typename Problem, bool = Problem::kScored>
struct Scores {
  static constexpr float kScale = Problem::kScale;

  template <typename Args>
  __device__ __forceinline__ Scores(const Args&, int, int) {}

  template <int kScores>
  __device__ __forceinline__ void change(float (&)[kScores], int, int) const {}
};

template <typename Problem>
struct Scores<Problem, true> {
  static constexpr float kScale = 1.0f;  // the body's to apply

  typename Problem::OfHead of_head;
  float batch;
  float head;
  int offset;

  template <typename Args>
  __device__ __forceinline__ Scores(const Args& args, int batch, int head)
      : of_head(Problem::of_head(args, head)), batch(batch), head(head), offset(args.keys - args.queries) {}

  // Of an accumulator whose first row and column are that query and that key.
  template <int kScores>
  __device__ __forceinline__ void change(float (&scores)[kScores], int first_query, int first_key) const {
    const int lane = threadIdx.x % kWarpSize;
    const int row0 = threadIdx.x % kWarpgroupSize / kWarpSize * 16 + lane / 4;
    const float key0 = first_key + lane % 4 * 2;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float query = first_query + row0 + 8 * row + offset;
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          float& score = scores[i + 2 * row + pair];
          score = Problem::score(of_head, score, batch, head, query, key0 + static_cast<float>(2 * i + pair));
        }
      }
    }
  }
};

}  // namespace autokernel::attention
