// A matrix that a body reads, by TMA: a warp's boxes of it arrive in the buffers in which its results are staged.
//
// Boxes of the matrix are those of C, one a chunk, in the same swizzled layout, so that a lane finds an element where its result goes.
// A warp asks for its part of a tile in two steps, and needs no other warp:
//   as the main loop ends  the first boxes go to the buffers, which the stores of the tile before have long left
//   chunk after chunk      what a store has left takes the box after the next
// A lane's element is read before any lane of the warp stages a result over it: the warp meets in between.
#pragma once

#include "sm90_epilogue.cuh"

namespace autokernel::sm90 {

// What a lane takes of a chunk: row by row, pairs of neighbours.
template <int kRowBytes>
struct LoadedChunk {
  bool is_there;  // else the matrix is read where it lies
  uint32_t address;

  // Of the fragment `number` of the chunk.
  template <typename Input>
  __device__ __forceinline__ void load(Input& input, int number) const {
    constexpr int kPairs = sizeof(input.pairs) / sizeof(input.pairs[0]);
    constexpr int kWords = sizeof(input.pairs[0].words) / sizeof(uint32_t);
    constexpr int kPairBytes = kWords * static_cast<int>(sizeof(uint32_t));
    const int lane = threadIdx.x % kWarpSize;
    // Where rows begin, and so address, the bits are zero that number a row's pairs: they are xored, not added.
    const uint32_t of_lane = address + swizzled<kRowBytes>(lane / 4 * kRowBytes + lane % 4 * kPairBytes);
    const uint32_t of_fragment = of_lane ^ number * 4 * kPairBytes;
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      auto& words = input.pairs[pair].words;
      if constexpr (kWords == 2) {
        ptx::load_shared(of_fragment + pair * 8 * kRowBytes, words[0], words[1]);
      } else {
        ptx::load_shared(of_fragment + pair * 8 * kRowBytes, words[0]);
      }
    }
  }
};

// The loads of one warp. What lane 0 issues all lanes count.
template <typename G, typename Body>
struct OperandLoad<G, Body, true> {
  static constexpr int kRowBytes = G::kStoreColumns * static_cast<int>(sizeof(typename Body::Loaded));
  static constexpr int kBoxBytes = G::kStoreRows * kRowBytes;
  static_assert(!G::kSwapAB && G::kEpilogueBuffers == 2, "one buffer is loaded while the other is stored");
  static_assert(kRowBytes >= kTmaUnitBytes && kRowBytes <= G::kStoreWidth, "a box of the matrix fits one of C");
  using Chunk = LoadedChunk<kRowBytes>;

  bool is_on = false;
  uint32_t staging;
  uint32_t barriers;
  uint32_t parities = 0;  // bit by bit the phase of each buffer's barrier that is waited for next
  int first_row;          // of this warp's part of the tile

  template <typename Shared>
  __device__ __forceinline__ static void init(const Shared& shared) {
    for (int number = 0; number < G::kLoadBarriers; ++number) ptx::mbarrier_init(shared.loaded(number), 1);
  }

  // That of the chunk at (row, column) of C, in the tile from column `within` on.
  struct Box {
    int row;
    int column;
    int within;
  };
  // Whether it is one of C, and of a warp's part of a tile from row `first` on.
  template <typename View>
  __device__ __forceinline__ static bool exists(const View& c, int first, Box box) {
    return box.row < min(first + G::kBlocksOfOne * kBlockM, c.rows) && box.column < c.columns;
  }

  // Chunks follow each other as they are stored.
  template <typename View>
  __device__ __forceinline__ static Box behind(const View& c, Box box) {
    constexpr int kColumns = G::kStoreColumns;
    if (box.within + kColumns < G::kColumns && box.column + kColumns < c.columns) {
      return {box.row, box.column + kColumns, box.within + kColumns};
    }
    return {box.row + kBlockM, box.column - box.within, 0};
  }

  // The first boxes, from the buffer on that is staged to next.
  template <typename View>
  __device__ __forceinline__ void begin(const TensorMap& map, const View& c, int row, int column, int buffer) {
    first_row = row;
    const Box first{row, column, 0};
    if (!exists(c, row, first)) return;
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<0>();
    load(map, first, buffer);
    const Box second = behind(c, first);
    if (exists(c, row, second)) load(map, second, 1 - buffer);
  }

  // The box of a chunk is there.
  __device__ __forceinline__ void wait(int buffer) {
    ptx::mbarrier_wait(barrier(buffer), parities >> buffer & 1);
    parities ^= 1u << buffer;
  }

  // Behind a chunk, which has `buffer`: the next one's box, which the first chunk finds on its way, as soon as the store from the other
  // buffer has read that.
  template <typename View>
  __device__ __forceinline__ void go_on(const TensorMap& map, const View& c, int row, int column, int within, int buffer) {
    if (within == 0 && row == first_row) return;
    const Box next = behind(c, Box{row, column, within});
    if (!exists(c, first_row, next)) return;
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<0>();
    load(map, next, 1 - buffer);
  }

 private:
  __device__ __forceinline__ uint32_t barrier(int buffer) const {
    return barriers + buffer * static_cast<uint32_t>(sizeof(uint64_t));
  }

  __device__ __forceinline__ void load(const TensorMap& map, Box box, int buffer) {
    if (threadIdx.x % kWarpSize != 0) return;
    ptx::mbarrier_arrive_expect_bytes(barrier(buffer), kBoxBytes);  // what lies out of bounds counts too
    ptx::tma_load(map, staging + buffer * G::kStoreBytes, barrier(buffer), box.column, box.row);
  }
};

}  // namespace autokernel::sm90
