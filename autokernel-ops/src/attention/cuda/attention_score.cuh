// What a body makes of scores before the softmax, where there is one.
#pragma once

#include "types.cuh"

namespace autokernel::attention {

// The scores of an accumulator's rows: of one head, or each row of its own (`Rows::kHeads`). `offset` leads from a query to
// its place among the keys.
template <typename Problem, typename Rows, bool = Problem::kScored>
struct Scores {
  static constexpr float kScale = Problem::kScale;

  template <typename Args>
  __device__ __forceinline__ Scores(const Args&, const Rows&, int, int) {}

  template <int kScores>
  __device__ __forceinline__ void change(float (&)[kScores], const Rows&, int) const {}
};

template <typename Problem, typename Rows>
struct Scores<Problem, Rows, true> {
  static constexpr float kScale = 1.0f;  // the body's to apply

  typename Problem::OfHead of_head[Rows::kHeads];
  float batch;
  int offset;

  template <typename Args>
  __device__ __forceinline__ Scores(const Args& args, const Rows& rows, int batch, int offset)
      : batch(batch), offset(offset) {
#pragma unroll
    for (int row = 0; row < Rows::kHeads; ++row) of_head[row] = Problem::of_head(args, rows.head(row));
  }

  // Of an accumulator whose first column is that key.
  template <int kScores>
  __device__ __forceinline__ void change(float (&scores)[kScores], const Rows& rows, int first_key) const {
    const float key0 = first_key + threadIdx.x % kWarpSize % 4 * 2;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if constexpr (!Rows::kFill) {
        if (row >= rows.rows_of_warp()) break;
      }
      const float query = rows.query(row) + offset;
      const float head = rows.head(row);
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          float& score = scores[i + 2 * row + pair];
          score = Problem::score(of_head[row % Rows::kHeads], score, batch, head, query,
                                 key0 + static_cast<float>(2 * i + pair));
        }
      }
    }
  }
};

}  // namespace autokernel::attention
