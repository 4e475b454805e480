// A factor A of which an index says which row each row of C is of: rows come from where they lie, and one that A does not have, as an
// index may say, is zero.
#pragma once

#include "sm80_matmul.cuh"

namespace autokernel::sm80 {

// The problem of which Args::a_index says which of the args.a_rows of A are multiplied.
template <typename Problem>
struct Gathered : Problem {};

// Where the rows begin that a thread copies a unit of: of each kStep-th number of the index, of which `left` may be read.
template <int kStep>
struct GatheredPasses {
  const uint8_t* data;
  int64_t row_pitch;
  const int32_t* index;
  int left;
  int count;  // of rows that there are

  __device__ __forceinline__ int row(int pass) const { return pass * kStep < left ? __ldg(index + pass * kStep) : -1; }
  __device__ __forceinline__ bool has(int pass) const { return row(pass) >= 0 && row(pass) < count; }
  __device__ __forceinline__ const uint8_t* at(int pass) const { return data + (has(pass) ? row(pass) : 0) * row_pitch; }
};

// A tile of such rows.
struct GatheredTile {
  const uint8_t* data;  // the first column, of row 0
  int64_t row_pitch;
  const int32_t* index;  // of the tile's first row
  int count;
  int rows;  // of the index that may be read: may exceed the tile, or be <= 0
  int columns;

  template <int kStep>
  __device__ __forceinline__ GatheredPasses<kStep> passes(int row, int byte) const {
    return {data + byte, row_pitch, index + row, rows - row, count};
  }
};

template <int kElementBytes, int kExtent, int kTileK, int kThreads>
struct GatheredOperand : Operand<kElementBytes, kExtent, kTileK, kThreads, false> {
  using Base = Operand<kElementBytes, kExtent, kTileK, kThreads, false>;
  using typename Base::Layout;
  const int32_t* index;
  int count;

  template <typename Args>
  __device__ __forceinline__ GatheredOperand(const Args& args, int first, int end)
      : Base(args.a, args.lda, 0, end - first), index(static_cast<const int32_t*>(args.a_index) + first), count(args.a_rows) {}

  template <typename Args>
  __device__ __forceinline__ static GatheredOperand of_a(const Args& args, int first, int end) {
    return GatheredOperand(args, first, end);
  }

  __device__ __forceinline__ void copy_last(uint32_t shared, int64_t k_origin, int k_left) const {
    const Access last = widest_access<kElementBytes>(this->row_pitch / kElementBytes, k_left);
    copy_tile<kElementBytes, Layout, kThreads, Check::kBoth>(shared, at(k_origin, k_left, this->extent), threadIdx.x, last);
  }

  template <bool kVectorOnly>
  __device__ __forceinline__ void copy_whole(uint32_t shared, int64_t k_origin, bool exists) const {
    Base::template copy<kVectorOnly, Check::kRows>(shared, at(k_origin, kTileK, exists ? this->extent : 0), this->access);
  }

 private:
  __device__ __forceinline__ GatheredTile at(int64_t k_origin, int k_left, int rows) const {
    return {this->origin + k_origin * kElementBytes, this->row_pitch, index, count, rows, k_left};
  }
};

template <typename Problem, typename S, int kProducts>
struct Factors<Gathered<Problem>, S, kProducts> : Factors<Problem, S, kProducts> {
  using OperandA = GatheredOperand<sizeof(typename Problem::Input), S::kTileM, S::kTileK, S::kThreads>;
};

}  // namespace autokernel::sm80
