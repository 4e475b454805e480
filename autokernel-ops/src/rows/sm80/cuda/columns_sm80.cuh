// Reductions along the columns of matrices, on every GPU from compute capability 8.0 on.
//
// Columns are cut into strips of kThreadsPerRow vectors, rows into units: kRowsPerBlock of them at a time, kVectors of each thread in
// flight. As many blocks as the GPU holds share the units of all strips evenly, strip after strip, so that a block adds up whole strips
// and at most two parts of others. Parts are left in the workspace, and of the blocks of a strip the one that comes last brings them
// together in their order, whoever that is: two runs on a GPU give the same bits.
//
// What is computed stands in `Problem`, which is printed for each kernel.
#pragma once

#include "epilogue.cuh"
#include "multiprocessor.cuh"
#include "ptx/atomic.cuh"
#include "ptx/sm90.cuh"
#include "rows_reduce.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::columns {

using rows::Packed;

// Elements of a row from `first` on: those that it has, and zeros behind them. kIsWhole: it has all of them, and they are aligned.
template <bool kIsWhole, typename T, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, const T* row, int first, int columns) {
  if (kIsWhole) {
    rows::load<true>(packed, {row, true}, rows::Span<kVector>{first, true});
    return;
  }
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

// How blocks share the units of all strips.
struct Shares {
  int64_t units;  // of a strip
  int64_t all;
  int64_t blocks;

  __device__ __forceinline__ Shares(int64_t units, int strips)
      : units(units), all(units * strips), blocks(min(all, int64_t(gridDim.x))) {}

  // The first unit of a block, of all blocks' units.
  __device__ __forceinline__ int64_t first(int64_t block) const { return all * block / blocks; }

  // The block that a unit is of.
  __device__ __forceinline__ int64_t block_of(int64_t unit) const { return ((unit + 1) * blocks + all - 1) / all - 1; }
};

template <typename Problem, typename Schedule, typename Args>
struct Columns {
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kRowsPerBlock = Schedule::kRowsPerBlock;
  static constexpr int kVectors = Schedule::kVectors;
  static constexpr int kUnit = kRowsPerBlock * kVectors;
  static constexpr int kThreads = Schedule::kThreadsPerRow * kRowsPerBlock;
  static constexpr int kStrip = Schedule::kThreadsPerRow * kVector;
  // Columns that a thread brings together, or threads that share one.
  static constexpr int kColumns = kStrip > kThreads ? kStrip / kThreads : 1;
  static constexpr int kReaders = kThreads > kStrip ? kThreads / kStrip : 1;
  static constexpr int kOutputs = Problem::kOutputs;
  // Parts that a block leaves at most: the end of a strip that began in another block, and the beginning of one.
  static constexpr int kParts = 2;
  // Units whose numbers a thread adds up by themselves, so that no sum is one long chain.
  static constexpr int kChain = 32 / kVectors;
  using Sums = typename Problem::Sums;

  __device__ __forceinline__ static void reduce(const Args& args) {
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    const int strips = ceil_div(args.columns, kStrip);
    const Shares shares(max(ceil_div(args.rows, kUnit), 1), strips);
    if (blockIdx.x >= shares.blocks) return;
    const int64_t end = shares.first(blockIdx.x + 1);
    const bool is_aligned = Problem::is_aligned(args);
    for (int64_t unit = shares.first(blockIdx.x); unit < end;) {
      const int strip = int(unit / shares.units);
      const int64_t first = unit - strip * shares.units;
      const int64_t last = min(shares.units, first + end - unit);
      const int end_row = int(min(last * kUnit, int64_t(args.rows)));
      if (is_aligned && (strip + 1) * kStrip <= args.columns) {
        add_up<true>(args, strip, int(first) * kUnit, end_row);
      } else {
        add_up<false>(args, strip, int(first) * kUnit, end_row);
      }
      float values[kOutputs][kColumns];
      fold_block(values);
      if (last - first == shares.units) {
        write(args, strip, values);
      } else {
        leave(args, shares, strip, first, values);
      }
      unit += last - first;
    }
  }

 private:
  // What each thread of a block has added up, as the columns lie.
  using Totals = float[kOutputs][kRowsPerBlock][kStrip];

  __device__ __forceinline__ static Totals& totals() {
    __shared__ Totals totals;
    return totals;
  }

  // A thread's rows from `first` to `end`, kRowsPerBlock apart: the vectors of a unit are on their way while those before are added.
  template <bool kIsWhole>
  __device__ __forceinline__ static void add_up(const Args& args, int strip, int first, int end) {
    const int lane = threadIdx.x % Schedule::kThreadsPerRow * kVector;
    const int number = threadIdx.x / Schedule::kThreadsPerRow;
    const int column = strip * kStrip + lane;
    typename Problem::Inputs inputs[kVectors];
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      const int row = first + number + vector * kRowsPerBlock;
      if (row < end) inputs[vector].template load<kIsWhole>(args, row, column);
    }
    const typename Problem::Shared shared(args, column);
    Sums sums;
    __syncthreads();  // what was left before may still be read
    sums.visit([&](auto op, int output, float (&)[kVector]) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) totals()[output][number][lane + i] = decltype(op)::kIdentity;
    });
    int added = 0;
    for (int row = first + number; row < end; row += kUnit) {
#pragma unroll
      for (int vector = 0; vector < kVectors; ++vector) {
        const int own = row + vector * kRowsPerBlock;
        if (own < end) Problem::add(own, column, shared, inputs[vector], sums);
        if (own + kUnit < end) inputs[vector].template load<kIsWhole>(args, own + kUnit, column);
      }
      if (++added % kChain > 0 && row + kUnit < end) continue;
      sums.visit([&](auto op, int output, float (&values)[kVector]) {
        using Op = decltype(op);
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          float& total = totals()[output][number][lane + i];
          total = Op::combine(total, values[i]);
          values[i] = Op::kIdentity;
        }
      });
    }
  }

  // What the threads of a block have of each column, in the thread that has the column.
  __device__ __forceinline__ static void fold_block(float (&values)[kOutputs][kColumns]) {
    __syncthreads();
    Sums().visit([&](auto op, int output, float (&)[kVector]) {
      using Op = decltype(op);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        float value = Op::kIdentity;
#pragma unroll
        for (int row = 0; row < kRowsPerBlock; ++row) value = Op::combine(value, totals()[output][row][at(j)]);
        values[output][j] = value;
      }
    });
  }

  // A thread's columns of a strip.
  __device__ __forceinline__ static int at(int j) { return threadIdx.x % kStrip + j * kThreads; }

  __device__ __forceinline__ static bool is_first_reader() { return threadIdx.x < kStrip; }

  template <typename Number>
  __device__ __forceinline__ static void write(const Args& args, int strip, const Number (&values)[kOutputs][kColumns]) {
    if (!is_first_reader()) return;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int column = strip * kStrip + at(j);
      if (column < args.columns) Problem::write(args, column, [&](int output) { return values[output][j]; });
    }
  }

  // The numbers of a strip that a block leaves.
  __device__ __forceinline__ static float* part(const Args& args, int64_t block, bool is_beginning, int output) {
    return static_cast<float*>(args.partials) + ((block * kParts + is_beginning) * kOutputs + output) * kStrip;
  }

  // Leaves a part of a strip, and where all others have left theirs brings them together.
  __device__ __forceinline__ static void leave(const Args& args, const Shares& shares, int strip, int64_t first,
                                               const float (&values)[kOutputs][kColumns]) {
    if (is_first_reader()) {
#pragma unroll
      for (int output = 0; output < kOutputs; ++output) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) part(args, blockIdx.x, first == 0, output)[at(j)] = values[output][j];
      }
    }
    const int64_t begin = shares.block_of(strip * shares.units);
    const int64_t end = shares.block_of((strip + 1) * shares.units - 1) + 1;
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t* const arrivals = static_cast<uint32_t*>(args.arrivals) + strip;
      is_last = ptx::fetch_add_ordered(arrivals, 1) == static_cast<uint32_t>(end - begin - 1);
      if (is_last) *arrivals = 0;
    }
    __syncthreads();
    if (is_last) bring_together(args, strip, begin, end);
  }

  // In fp64: kReaders threads a column, each of which takes every kReaders-th part, and then one of them what they have.
  __device__ __forceinline__ static void bring_together(const Args& args, int strip, int64_t begin, int64_t end) {
    __shared__ double scratch[kReaders][kStrip];
    const int reader = threadIdx.x / kStrip;
    double values[kOutputs][kColumns];
    Sums().visit([&](auto op, int output, float (&)[kVector]) {
      using Op = decltype(op);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        double value = Op::kIdentity;
#pragma unroll 8
        for (int64_t block = begin + reader; block < end; block += kReaders) {
          value = together<Op>(value, __ldcg(part(args, block, block == begin, output) + at(j)));
        }
        scratch[reader][at(j)] = value;
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        values[output][j] = Op::kIdentity;
#pragma unroll
        for (int other = 0; other < kReaders; ++other) {
          values[output][j] = together<Op>(values[output][j], scratch[other][at(j)]);
        }
      }
      __syncthreads();
    });
    write(args, strip, values);
  }

  template <typename Op>
  __device__ __forceinline__ static double together(double value, double other) {
    return Op::kIdentity == 0.0f ? value + other : double(Op::combine(float(value), float(other)));
  }
};

}  // namespace autokernel::columns
