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
  int count;             // of rows that there are
  int rows;              // of the index that may be read: may exceed the tile, or be <= 0
  int columns;           // likewise, in elements
};

// As for a GlobalTile, with a lookup for each row. Not one text with it: what is looked up costs other kernels registers even where it
// compiles away.
template <int kElementBytes, typename Layout, int kThreads, Access kAccess, Check kCheck>
__device__ __forceinline__ void copy_tile(uint32_t shared, const GatheredTile& tile, uint32_t thread) {
  constexpr int kRows = Layout::kBytes / Layout::kRowPitch;
  using Map = CopyMap<kElementBytes, kRows, Layout::kRowPitch / kElementBytes, kThreads, kAccess>;

  const Map map(thread);
  if (!Map::kEveryThreadCopies && map.row >= kRows) return;

  const int byte = map.column * kElementBytes;
  const GatheredPasses<Map::kRowStep> source{tile.data + byte, tile.row_pitch, tile.index + map.row, tile.rows - map.row, tile.count};
  const uint32_t target = shared + Layout::offset(map.row, byte / kChunkBytes) + byte % kChunkBytes;
  const int columns_left = kCheck == Check::kRows ? Map::kUnitElements : tile.columns - map.column;
  const auto pass_target = [&](int pass) {
    return (target ^ (Layout::swizzle(pass * Map::kRowStep) * kChunkBytes)) + pass * Map::kRowStep * Layout::kRowPitch;
  };

  if constexpr (kAccess == Access::kElement) {
    constexpr int kBatch = Map::kPasses < 8 ? Map::kPasses : 8;  // loads in flight before the first is stored
#pragma unroll 1
    for (int first = 0; first < Map::kPasses; first += kBatch) {
      uint32_t words[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        words[i] = load_word<kElementBytes>(source.at(first + i), source.has(first + i) ? columns_left : 0);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) ptx::store_shared(pass_target(first + i), words[i]);
    }
  } else {
#pragma unroll
    for (int pass = 0; pass < Map::kPasses; ++pass) {
      ptx::cp_async_if<Map::kUnitBytes>(pass_target(pass), source.at(pass), source.has(pass) && columns_left > 0);
    }
  }
}

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
