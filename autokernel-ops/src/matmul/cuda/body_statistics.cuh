// Reductions along rows of C, as a body asks for them: a warp reduces what it holds of each row to one number, a part, which
// it leaves in the workspace; the block whose tile is the last one of those rows brings the parts of each together, in their order. No
// atomic decides what is added to what, so that two runs give the same bits.
//
// The emitted `struct Body` says how: how many statistics there are, what each begins with and how two numbers become one, and
// `finish`, which makes outputs of a row's reductions. Their terms stand behind the outputs that `compute` gives.
//
// Part p of a row reduces the columns from p * Body::kPartColumns on, which are those that one warp holds: of a tile, or where
// it is computed transposed 16. Part p of row r of statistic s lies at (s * parts + p) * rows + r, for rows that are a multiple of four.
//
// Each warp of a tile has a share of its rows, and a counter for it in the workspace: who counts the last tile finishes the share.
#pragma once

#include "body_folded.cuh"
#include "body_operand.cuh"
#include "ptx/atomic.cuh"
#include "types.cuh"

namespace autokernel::body {

// How many there are. Only bodies that have some say it.
template <typename Body, typename = void>
constexpr int kStatistics = 0;
template <typename Body>
constexpr int kStatistics<Body, decltype(void(Body::kStatistics))> = Body::kStatistics;

constexpr int kNeighbours = 4;  // rows whose parts one access has

// The parts of all rows of C.
template <typename Body>
struct Parts {
  float* data;
  int rows;
  int columns;

  __device__ __forceinline__ int count() const { return ceil_div(columns, Body::kPartColumns); }

  // From a part to the next.
  __device__ __forceinline__ int64_t stride() const { return int64_t{ceil_div(rows, kNeighbours)} * kNeighbours; }

  __device__ __forceinline__ float* at(int statistic, int part, int row) const {
    return data + (int64_t{statistic} * count() + part) * stride() + row;
  }

  // Leaves a part by one thread. The last row's neighbours that are not there have something too, as they are read with it.
  __device__ __forceinline__ void leave(int statistic, int part, int row, float value) const {
    const int end = row + 1 == rows ? static_cast<int>(stride()) : row + 1;
    for (; row < end; ++row) *at(statistic, part, row) = value;
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

  // The first `count` elements of a pair.
  template <typename Outputs>
  __device__ __forceinline__ void fold(int count, int pair, const Outputs& low, const Outputs& high) {
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
        // Of neighbours that are not there, too: they are read with the last row.
        if (is_first && row < parts.stride() && place.column < place.columns) *parts.at(statistic, part, row) = value;
      }
    }
  }
};

// Of a body that reduces nothing.
template <typename Body, bool kSwapped>
struct RowStatistics<Body, kSwapped, 0> {
  template <typename Outputs>
  __device__ __forceinline__ void fold(int, int, const Outputs&, const Outputs&) {}
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
  for (int statistic = 0; statistic < kCount; ++statistic) parts.leave(statistic, part, row, reduced[statistic]);
}

// Element `at` of an operand.
template <typename T>
__device__ __forceinline__ float element_of(const void* data, int at) {
  Bits<T, 1> bits;
  bits.load(0, static_cast<const T*>(data) + at);
  return bits[0];
}

// The greatest power of two up to `most`, from `least` on.
constexpr int power_of_two(int most, int least) { return least * 2 <= most ? power_of_two(most, least * 2) : least; }

// Accesses that a lane requests before it waits for the first, in about so many registers. More than a few are code that is waited for.
template <typename Body, int kRegisters, int kRows>
constexpr int kAtOnce = kRegisters / (kStatistics<Body> * kRows) < 8 ? power_of_two(kRegisters / (kStatistics<Body> * kRows), 1) : 8;
constexpr int kTogetherRegisters = 64;  // of a warp that has no sums any more

// How parts of a row become one. Bodies whose statistics depend on each other have their own.
template <typename Body>
struct RowOfParts {
  static constexpr int kCount = kStatistics<Body>;

  // Takes `kOthers` of them, all at once.
  template <int kOthers>
  __device__ __forceinline__ static void take(float (&reduced)[kCount], const float (&others)[kCount][kOthers]) {
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
#pragma unroll
      for (float other : others[statistic]) reduced[statistic] = Body::combine(statistic, reduced[statistic], other);
    }
  }

  // Of a whole row of so many columns.
  __device__ __forceinline__ static void settle(float (&)[kCount], int) {}
};

// The rows of a tile, so many at most.
template <int kMost>
struct TileRows {
  int tile;   // of so many
  int tiles;
  int first;  // of C
  int count;  // that exist

  __device__ __forceinline__ static TileRows of(int tile, int rows) {
    return {tile, ceil_div(rows, kMost), tile * kMost, min(kMost, rows - tile * kMost)};
  }
};

// Lanes of a warp beside each other that take the rows of its share at once.
template <int kRows>
constexpr int kAcross = kRows > kNeighbours ? 2 * kAcross<ceil_div(kRows, 2)> : 1;

// Counts a tile of those rows for the share of warp `warp` of kWarps, once all warps of the block that have parts of the tile have left them
// and met. True where it was the last of `arrivals`: all parts of the share are there, for those who meet this thread behind it.
template <int kWarps, typename Args>
__device__ __forceinline__ bool count(const Args& args, int tile, int warp, int arrivals) {
  uint32_t* const counter = static_cast<uint32_t*>(args.arrivals) + tile * kWarps + warp;
  const bool is_last = ptx::fetch_add_ordered(counter, 1) == static_cast<uint32_t>(arrivals - 1);
  if (is_last) *counter = 0;
  return is_last;
}

// The same for all lanes of the warp.
template <int kWarps, typename Args>
__device__ __forceinline__ bool arrive(const Args& args, int tile, int warp, int arrivals) {
  const bool is_last = threadIdx.x % kWarpSize == 0 && count<kWarps>(args, tile, warp, arrivals);
  const bool all = __shfl_sync(~0u, is_last, 0);
  __syncwarp();  // what lane 0 has seen is there for all
  return all;
}

// Brings together the rows of a tile that are the share of warp `warp` of kWarps. A lane takes parts of neighbouring rows, and as many lanes
// as there are to spare take others of the same rows. Most blocks come here once, so that what they wait for is the code, too: there is little.
template <typename Body, int kWarps, int kRegisters = kTogetherRegisters, int kMost, typename Args>
__device__ __forceinline__ void bring_together(const Args& args, const TileRows<kMost>& of, int columns, int warp) {
  constexpr int kCount = kStatistics<Body>;
  constexpr int kRows = kRegisters < kCount * kNeighbours ? 1 : kNeighbours;  // at once
  constexpr int kAccesses = kAtOnce<Body, kRegisters, kRows>;
  constexpr int kLanes = kAcross<ceil_div(kMost, kWarps)>, kSlices = kWarpSize / kLanes;
  static_assert(kLanes <= kWarpSize, "a warp has its share at once");
  using Row = RowOfParts<Body>;
  const Parts<Body> parts{static_cast<float*>(args.parts), args.m, columns};
  const int lane = threadIdx.x % kWarpSize, slice = lane / kLanes;
  const int number = (warp * kLanes + lane % kLanes) * kNeighbours;
  const int count = number < of.count ? parts.count() : 0;
  const int64_t stride = kSlices * parts.stride();

  Folded<Body> folded;
#pragma unroll 1
  for (int neighbour = 0; neighbour < kNeighbours; neighbour += kRows) {
    float reduced[kRows][kCount];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int statistic = 0; statistic < kCount; ++statistic) reduced[i][statistic] = Body::identity(statistic);
    }
#pragma unroll 1
    for (int group = slice; group < count; group += kSlices * kAccesses) {
      float loaded[kRows][kCount][kAccesses];
#pragma unroll
      for (int statistic = 0; statistic < kCount; ++statistic) {
        const float* from = parts.at(statistic, group, of.first + number + neighbour);
#pragma unroll
        for (int access = 0; access < kAccesses; ++access, from += stride) {
          const float none = Body::identity(statistic);
          const bool is_there = group + access * kSlices < count;
          if constexpr (kRows == 1) {
            loaded[0][statistic][access] = is_there ? __ldcg(from) : none;
          } else {
            float4 of_rows = make_float4(none, none, none, none);
            if (is_there) of_rows = __ldcg(reinterpret_cast<const float4*>(from));
            loaded[0][statistic][access] = of_rows.x, loaded[1][statistic][access] = of_rows.y;
            loaded[2][statistic][access] = of_rows.z, loaded[3][statistic][access] = of_rows.w;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) Row::take(reduced[i], loaded[i]);
    }
#pragma unroll
    for (int mask = kLanes; mask < kWarpSize; mask *= 2) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        float other[kCount][1];
#pragma unroll
        for (int statistic = 0; statistic < kCount; ++statistic) other[statistic][0] = __shfl_xor_sync(~0u, reduced[i][statistic], mask);
        Row::take(reduced[i], other);
      }
    }

    // All lanes of a row have the same of it: they share what becomes of its neighbours.
#pragma unroll 1
    for (int i = slice; i < kNeighbours; i += kSlices) {
      if (number + i >= of.count) break;
      if (kRows == 1 && i != neighbour) continue;
      float of_row[kCount];
#pragma unroll
      for (int statistic = 0; statistic < kCount; ++statistic) {
        if constexpr (kRows == 1) {
          of_row[statistic] = reduced[0][statistic];
        } else {
          const float first = i % 2 == 0 ? reduced[0][statistic] : reduced[1][statistic];
          const float second = i % 2 == 0 ? reduced[2][statistic] : reduced[3][statistic];
          of_row[statistic] = i < 2 ? first : second;
        }
      }
      Row::settle(of_row, columns);
      folded.finish(args, of.first + number + i, of_row);
    }
  }
  folded.leave(args, of.tile * kWarps + warp, of.tiles * kWarps);
}

}  // namespace autokernel::body
