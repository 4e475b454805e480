// Reductions along rows of C, as a body asks for them: a warp reduces what it holds of each row to one number, a part, which
// it leaves in the workspace; a second kernel brings the parts of each row together, in their order. No atomic decides what is added to
// what, so that two runs give the same bits.
//
// The emitted `struct Body` says how: how many statistics there are, what each begins with and how two numbers become one, and
// `finish`, which makes outputs of a row's reductions. Their terms stand behind the outputs that `compute` gives.
//
// Part p of a row reduces the columns from p * Body::kPartColumns on, which are those that one warp holds: of a tile, or where
// it is computed transposed 16. Part p of row r of statistic s lies at (s * parts + p) * rows + r.
#pragma once

#include "body_folded.cuh"
#include "body_operand.cuh"
#include "types.cuh"

namespace autokernel::body {

// How many there are. Only bodies that have some say it.
template <typename Body, typename = void>
constexpr int kStatistics = 0;
template <typename Body>
constexpr int kStatistics<Body, decltype(void(Body::kStatistics))> = Body::kStatistics;

// The parts of all rows of C.
template <typename Body>
struct Parts {
  float* data;
  int rows;
  int columns;

  __device__ __forceinline__ int count() const { return ceil_div(columns, Body::kPartColumns); }

  __device__ __forceinline__ float* at(int statistic, int part, int row) const {
    return data + (int64_t{statistic} * count() + part) * rows + row;
  }
};

// What a lane has reduced of its rows: those of its two pairs, 8 apart, or where pairs lie along columns of C those of a pair.
template <typename Body, bool kSwapped, int kCount = kStatistics<Body>>
struct RowStatistics {
  static constexpr int kFirstMask = kSwapped ? 4 : 1;  // the lanes that hold the same rows
  static constexpr int kLastMask = kSwapped ? 16 : 2;
  float of_rows[kCount][2];

  __device__ __forceinline__ RowStatistics() {
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      of_rows[statistic][0] = of_rows[statistic][1] = Body::identity(statistic);
    }
  }

  // Both elements of a pair, those that exist.
  template <typename Outputs>
  __device__ __forceinline__ void fold(Place<kSwapped> of_pair, int pair, const Outputs& low, const Outputs& high) {
    const int count = of_pair.count();
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      const int term = Body::kOutputs + statistic;
      float& first = of_rows[statistic][kSwapped ? 0 : pair];
      if (count >= 1) first = Body::combine(statistic, first, low.values[term]);
      float& second = of_rows[statistic][kSwapped ? 1 : pair];
      if (count >= 2) second = Body::combine(statistic, second, high.values[term]);
    }
  }

  // Leaves the part of the lane's rows from `place` on. All lanes of the warp come here.
  template <typename Args>
  __device__ __forceinline__ void leave(const Args& args, Place<kSwapped> place) const {
    const Parts<Body> parts{static_cast<float*>(args.parts), place.rows, place.columns};
    const int part = place.column / Body::kPartColumns;
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float value = of_rows[statistic][i];
#pragma unroll
        for (int mask = kFirstMask; mask <= kLastMask; mask *= 2) {
          value = Body::combine(statistic, value, __shfl_xor_sync(~0u, value, mask));
        }
        const int row = place.row + (kSwapped ? i : 8 * i);
        const bool is_first = threadIdx.x % kWarpSize / kFirstMask % (2 * kLastMask / kFirstMask) == 0;
        if (is_first && row < place.rows && place.column < place.columns) *parts.at(statistic, part, row) = value;
      }
    }
  }
};

// Of a body that reduces nothing.
template <typename Body, bool kSwapped>
struct RowStatistics<Body, kSwapped, 0> {
  template <typename Outputs>
  __device__ __forceinline__ void fold(Place<kSwapped>, int, const Outputs&, const Outputs&) {}
  template <typename Args>
  __device__ __forceinline__ void leave(const Args&, Place<kSwapped>) const {}
};

// Part `part` of a row by one thread, of which `outputs_of(column)` gives each element's outputs.
template <typename Body, typename Args, typename OutputsOf>
__device__ __forceinline__ void leave_part(const Args& args, int row, int part, int columns, const OutputsOf& outputs_of) {
  constexpr int kCount = kStatistics<Body>;
  const Parts<Body> parts{static_cast<float*>(args.parts), args.m, columns};
  float reduced[kCount];
#pragma unroll
  for (int statistic = 0; statistic < kCount; ++statistic) reduced[statistic] = Body::identity(statistic);
  const int end = min(columns, (part + 1) * Body::kPartColumns);
  for (int column = part * Body::kPartColumns; column < end; ++column) {
    const auto outputs = outputs_of(column);
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      reduced[statistic] = Body::combine(statistic, reduced[statistic], outputs.values[Body::kOutputs + statistic]);
    }
  }
#pragma unroll
  for (int statistic = 0; statistic < kCount; ++statistic) *parts.at(statistic, part, row) = reduced[statistic];
}

// Element `at` of an operand.
template <typename T>
__device__ __forceinline__ float element_of(const void* data, int at) {
  Bits<T, 1> bits;
  bits.load(0, static_cast<const T*>(data) + at);
  return bits[0];
}

// The second kernel: a block takes kTogetherRows rows, each of whose lanes has a row, and each of whose warps every so many parts.
constexpr int kTogetherRows = kWarpSize;
constexpr int kTogetherWarps = 8;
constexpr int kTogetherThreads = kTogetherRows * kTogetherWarps;
constexpr int kTogetherAtOnce = 16;  // parts that a lane requests before it waits for the first: few rows are all latency
constexpr int kTogetherParts = 32;  // the grid has a block for so many parts of those rows, as the workspace is sized by it

template <typename Body, typename Args>
__device__ __forceinline__ void bring_together(const Args& args) {
  constexpr int kCount = kStatistics<Body>;
  __shared__ float of_warps[kCount][kTogetherWarps][kTogetherRows];
  const int blocks_of_rows = ceil_div(args.m, kTogetherRows);
  if (blockIdx.x >= blocks_of_rows) return;  // parts are few: the blocks of the first ones take all
  const Parts<Body> parts{static_cast<float*>(args.parts), args.m, args.n};
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int row = blockIdx.x * kTogetherRows + lane;

  float reduced[kCount];
#pragma unroll
  for (int statistic = 0; statistic < kCount; ++statistic) {
    reduced[statistic] = Body::identity(statistic);
    const int count = row < args.m ? parts.count() : 0;
    for (int first = warp; first < count; first += kTogetherWarps * kTogetherAtOnce) {
      float loaded[kTogetherAtOnce];
#pragma unroll
      for (int i = 0; i < kTogetherAtOnce; ++i) {
        const int part = first + i * kTogetherWarps;
        loaded[i] = part < count ? *parts.at(statistic, part, row) : Body::identity(statistic);
      }
#pragma unroll
      for (float value : loaded) reduced[statistic] = Body::combine(statistic, reduced[statistic], value);
    }
    of_warps[statistic][warp][lane] = reduced[statistic];
  }
  __syncthreads();
  if (warp > 0 || (kFolds<Body> == 0 && row >= args.m)) return;
#pragma unroll
  for (int statistic = 0; statistic < kCount; ++statistic) {
#pragma unroll
    for (int other = 1; other < kTogetherWarps; ++other) {
      reduced[statistic] = Body::combine(statistic, reduced[statistic], of_warps[statistic][other][lane]);
    }
  }
  finish_row<Body>(args, row, blocks_of_rows, reduced);
}

}  // namespace autokernel::body
