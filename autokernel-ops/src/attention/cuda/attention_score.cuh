// What a body makes of scores before the softmax, where there is one.
#pragma once

#include "types.cuh"

namespace autokernel::attention {

// The scores of an accumulator's rows: of one head, or each row of its own (`Rows::kHeads`). `offset` leads from a query to
// its place among the keys.
template <typename Problem, typename Rows, bool = Problem::kScored>
struct Scores {
  static constexpr bool kBegins = false;
  static constexpr bool kCapped = false;
  float scale;  // of what is in the accumulator; positive

  template <typename Args>
  __device__ __forceinline__ Scores(const Args&, const Rows&, int, int) : scale(Problem::kScale) {}

  template <int kScores>
  __device__ __forceinline__ void change(float (&)[kScores], const Rows&, int) const {}
};

template <typename Problem, typename Rows>
struct Scores<Problem, Rows, true> {
  static constexpr bool kBegins = Problem::kBegins;
  static constexpr bool kCapped = Problem::kCapped;
  float scale;
  float steepness = 0.0f;  // of a cap of one head: by what sums of products are multiplied in its tanh

  typename Problem::OfHead of_head[Rows::kHeads];
  float batch;
  int offset;

  template <typename Args>
  __device__ __forceinline__ Scores(const Args& args, const Rows& rows, int batch, int offset)
      : scale(Problem::factor(args)), batch(batch), offset(offset) {
#pragma unroll
    for (int row = 0; row < Rows::kHeads; ++row) {
      of_head[row] = Problem::of_head(args, this->batch, rows.head(row), rows.head(row));
    }
    if constexpr (kCapped) steepness = Problem::steepness(of_head[0]);
  }

  // What sums of products begin at, of an accumulator whose first column is that key. Of all rows: branches would keep registers.
  template <int kScores>
  __device__ __forceinline__ void begin(float (&scores)[kScores], const Rows& rows, int first_key) const {
    for_each<true>(scores, rows, first_key, [](float& score, const auto& of_head, const auto& of_row, float column) {
      score = Problem::begin(of_head, of_row, column);
    });
  }

  // The step of all rows, and of one what its first key has.
  __device__ __forceinline__ float step() const { return of_head[0].step; }
  __device__ __forceinline__ float base(const Rows& rows, int row, int first_key) const {
    const auto& of = of_head[row % Rows::kHeads];
    const float key = first_key;
    return Problem::begin(of, Problem::of_row(of, batch, rows.head(row), rows.query(row) + offset, key), 0.0f);
  }

  // What becomes of them.
  template <int kScores>
  __device__ __forceinline__ void change(float (&scores)[kScores], const Rows& rows, int first_key) const {
    if constexpr (Problem::kChanges) {
      for_each<Rows::kFill>(scores, rows, first_key, [](float& score, const auto& of_head, const auto& of_row, float column) {
        score = Problem::score(of_head, of_row, score, column);
      });
    }
  }

 private:
  // Columns are counted from a thread's first, so that they are constants. Without kAll of the rows that a warp has.
  template <bool kAll, int kScores, typename Use>
  __device__ __forceinline__ void for_each(float (&scores)[kScores], const Rows& rows, int first_key, Use use) const {
    const float key0 = first_key + threadIdx.x % kWarpSize % 4 * 2;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if constexpr (!kAll) {
        if (row >= rows.rows_of_warp()) break;
      }
      const auto& of = of_head[row % Rows::kHeads];
      const auto of_row = Problem::of_row(of, batch, rows.head(row), rows.query(row) + offset, key0);
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
        use(scores[i + 2 * row], of, of_row, static_cast<float>(2 * i));
        use(scores[i + 2 * row + 1], of, of_row, static_cast<float>(2 * i + 1));
      }
    }
  }
};

}  // namespace autokernel::attention
