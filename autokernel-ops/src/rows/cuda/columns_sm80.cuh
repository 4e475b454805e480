// Reductions along the columns of matrices, on every GPU from compute capability 8.0 on.
//
// A block takes a strip of columns, kThreadsPerRow vectors wide, and a part of the rows: kRowsPerBlock of them at a time, kVectors
// of each thread in flight, kTurns times. What its threads reduced they bring together in shared memory; a second kernel brings
// together the parts of a column. The order is fixed by the schedule and the number of rows: two runs give the same bits.
//
// What is computed stands in `Problem`, which is printed for each kernel.
#pragma once

#include "epilogue.cuh"
#include "ptx/sm90.cuh"
#include "rows_reduce.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::columns {

using rows::Packed;

// Elements of a row from `first` on: those that it has, and zeros behind them.
template <typename T, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, const T* row, int first, int columns) {
  if (first + kVector <= columns) {
    rows::load<false>(packed, rows::place<kVector>(row, first), rows::Span<kVector>{first, true});
    return;
  }
  constexpr int kPerWord = 4 / int(sizeof(T));
  packed.clear();
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (first + i < columns) {
      packed.words[i / kPerWord] |= uint32_t(rows::load_bits(row + first + i)) << 8 * sizeof(T) * (i % kPerWord);
    }
  }
}

template <typename Problem, typename Schedule, typename Args>
struct Columns {
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kRowsPerBlock = Schedule::kRowsPerBlock;
  static constexpr int kVectors = Schedule::kVectors;
  static constexpr int kThreads = Schedule::kThreadsPerRow * kRowsPerBlock;
  static constexpr int kStrip = Schedule::kThreadsPerRow * kVector;
  static constexpr int kOutputs = Problem::kOutputs;
  using Sums = typename Problem::Sums;

  __device__ __forceinline__ static int strips(const Args& args) { return ceil_div(args.columns, kStrip); }

  // Reduces a part of a strip into this block's place in the workspace.
  __device__ __forceinline__ static void reduce_parts(const Args& args) {
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    const int strip = blockIdx.x % strips(args);
    const int64_t part = blockIdx.x / strips(args);
    const int lane = threadIdx.x % Schedule::kThreadsPerRow;
    const int number = threadIdx.x / Schedule::kThreadsPerRow;
    const int column = strip * kStrip + lane * kVector;

    Sums sums;
    const typename Problem::Shared shared(args, column);
    for (int turn = 0; turn < Schedule::kTurns; ++turn) {
      const int64_t first = ((part * Schedule::kTurns + turn) * kVectors) * kRowsPerBlock + number;
      typename Problem::Inputs inputs[kVectors];
#pragma unroll
      for (int vector = 0; vector < kVectors; ++vector) {
        const int64_t row = first + vector * kRowsPerBlock;
        if (row < args.rows) inputs[vector].load(args, row, column);
      }
#pragma unroll
      for (int vector = 0; vector < kVectors; ++vector) {
        const int64_t row = first + vector * kRowsPerBlock;
        if (row < args.rows) Problem::add(args, row, column, shared, inputs[vector], sums);
      }
    }

    // Each output in turn: halves of the block's rows onto the others.
    __shared__ float scratch[kRowsPerBlock][kStrip];
    float* const partials = static_cast<float*>(args.partials) + int64_t(blockIdx.x) * kOutputs * kStrip;
    sums.visit([&](auto op, int output, float (&values)[kVector]) {
      using Op = decltype(op);
      __syncthreads();  // the one before may still be read
#pragma unroll
      for (int i = 0; i < kVector; ++i) scratch[number][lane * kVector + i] = values[i];
#pragma unroll
      for (int half = kRowsPerBlock / 2; half > 0; half /= 2) {
        __syncthreads();
        if (number < half) {
#pragma unroll
          for (int i = 0; i < kVector; ++i) {
            float& mine = scratch[number][lane * kVector + i];
            mine = Op::combine(mine, scratch[number + half][lane * kVector + i]);
          }
        }
      }
      if (number == 0) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) partials[output * kStrip + lane * kVector + i] = scratch[0][lane * kVector + i];
      }
    });
  }

  // Brings the parts of each column together: a thread a column, in fp64.
  __device__ __forceinline__ static void bring_together(const Args& args) {
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    const int at = threadIdx.x % kStrip;
    const int column = blockIdx.x * kStrip + at;
    if (threadIdx.x >= kStrip || column >= args.columns) return;
    const int parts = ceil_div(args.rows, Schedule::kTurns * kVectors * kRowsPerBlock);
    const auto* partials = static_cast<const float*>(args.partials);
    Problem::write(args, column, [&](auto op, int output) {
      using Op = decltype(op);
      double value = Op::kIdentity;
      for (int64_t part = 0; part < parts; ++part) {
        const float other = partials[((part * strips(args) + blockIdx.x) * kOutputs + output) * kStrip + at];
        value = Op::kIdentity == 0.0f ? value + other : double(Op::combine(float(value), other));
      }
      return value;
    });
  }
};

}  // namespace autokernel::columns
