// Which rows of weights a lane holds, and the scales of their groups along K.
#pragma once

#include "packed4.cuh"
#include "sm90_mainloop.cuh"

namespace autokernel::sm90::weights {

// Numbers of one element in memory.
template <typename Weight>
constexpr int kNumbers = 1;
template <>
inline constexpr int kNumbers<i4x2> = 2;

// Whether groups have zero points: only problems with some say so.
template <typename Problem, typename = void>
constexpr bool kHasZeros = false;
template <typename Problem>
constexpr bool kHasZeros<Problem, decltype(void(Problem::kZeros))> = Problem::kZeros;

// The scales of a stage: for each product, and each group of K, one for each of the tile's rows of weights.
template <typename Problem, int kGroup = Problem::kGroup>
struct Scales {
  using Scale = typename Problem::Scale;

  template <typename G>
  __device__ __forceinline__ static uint32_t at(const SharedLayout<G>& shared, int stage, int product) {
    constexpr int kOfProduct = G::Stage::kGroups * G::kColumns * static_cast<int>(sizeof(Scale));
    return shared.b(stage) + G::kBBytes + product * kOfProduct;
  }

  __device__ __forceinline__ static float load(uint32_t first, int number) {
    const uint32_t address = first + number * static_cast<uint32_t>(sizeof(Scale));
    if constexpr (sizeof(Scale) == 4) {
      uint32_t word;
      ptx::load_shared(address, word);
      return __uint_as_float(word);
    } else {
      uint16_t half;
      ptx::load_shared(address, half);
      if constexpr (DtypeOf<Scale>::value == Dtype::kF16) return ptx::f16_to_f32(half);
      return __uint_as_float(uint32_t{half} << 16);
    }
  }
};
template <typename Problem>
struct Scales<Problem, 0> {};

// Rows of a block behind the first one's: swapped, blocks are of either product.
template <typename G>
__device__ __forceinline__ constexpr int row_of(int block) {
  return block % G::kBlocksOfOne * G::kRowsApart + block / G::kBlocksOfOne * G::kColumns;
}

template <typename G>
using RowScales = float[G::kBlocks][2];  // of the row that a lane begins with, and of the one 8 below

// Those of a group of the stage, for the lane that begins with `row`.
template <typename G>
__device__ __forceinline__ void load_scales(RowScales<G>& scales, const SharedLayout<G>& shared, int stage, int row, int group) {
#pragma unroll
  for (int block = 0; block < G::kBlocks; ++block) {
    const uint32_t of_product = G::Scales::template at<G>(shared, stage, block / G::kBlocksOfOne);
    const int first = group * G::kColumns + row + block % G::kBlocksOfOne * G::kRowsApart;
    scales[block][0] = G::Scales::load(of_product, first);
    scales[block][1] = G::Scales::load(of_product, first + 8);
  }
}

// acc += scales of_group
template <typename G>
__device__ __forceinline__ void add_scaled(Accumulators<G>& acc, const Accumulators<G>& of_group, const RowScales<G>& scales) {
#pragma unroll
  for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < G::kWidth / 2; ++i) {
      acc[block][i] = fmaf(of_group[block][i], scales[block][i / 2 % 2], acc[block][i]);
    }
  }
}

}  // namespace autokernel::sm90::weights
