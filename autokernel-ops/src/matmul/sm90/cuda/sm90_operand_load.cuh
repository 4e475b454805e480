// A matrix that a body reads, a warp's boxes of it in the buffers in which its results are staged.
//
// Boxes of the matrix are those of C, one a chunk, in the same swizzled layout, so that a lane finds an element where its result goes.
// By TMA a warp asks for its part of a tile box by box, in the order of its chunks, and needs no other warp:
//   before the main loop  as many as there are buffers, which the stores of the tile before have left
//   chunk after chunk     the next one, to the buffer that a store some chunks ago has left
// What TMA cannot address the lanes of the warp copy when they need it. A lane's element is read before any lane of the warp stages a
// result over it: the warp meets in between.
#pragma once

#include "sm90_epilogue.cuh"

namespace autokernel::sm90 {

// What a lane takes of a chunk: pairs of neighbours along a row or, swapped, along a column.
template <bool kSwapped, int kRowBytes>
struct LoadedChunk {
  static constexpr bool kIsThere = true;
  uint32_t address;

  // Of the fragment `number` of the chunk.
  template <typename Input>
  __device__ __forceinline__ void load(Input& input, int number) const {
    constexpr int kWords = sizeof(input.pairs[0].words) / sizeof(uint32_t);
    const int lane = threadIdx.x % kWarpSize;
    if constexpr (!kSwapped) {
      constexpr int kPairBytes = kWords * static_cast<int>(sizeof(uint32_t));
      // Where rows begin, and so address, the bits are zero that number a row's pairs: they are xored, not added.
      const uint32_t of_lane = address + swizzled<kRowBytes>(lane / 4 * kRowBytes + lane % 4 * kPairBytes);
      const uint32_t of_fragment = of_lane ^ number * 4 * kPairBytes;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        auto& words = input.pairs[pair].words;
        if constexpr (kWords == 2) {
          ptx::load_shared(of_fragment + pair * 8 * kRowBytes, words[0], words[1]);
        } else {
          ptx::load_shared(of_fragment + pair * 8 * kRowBytes, words[0]);
        }
      }
    } else {
      const uint32_t of_fragment = address + number * 8 * kRowBytes;  // where the swizzle repeats
      if constexpr (kWords == 1) {
        // Lanes address 8 rows, then their second 8 columns.
        const uint32_t of_lane = swizzled<kRowBytes>(lane % 8 * kRowBytes + lane / 8 % 2 * kTmaUnitBytes);
        ptx::ldmatrix_x2_transposed(of_fragment + of_lane, input.pairs[0].words[0], input.pairs[1].words[0]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint32_t row = lane % 4 * 2 + i % 2, column = lane / 4 + i / 2 * 8;
          const uint32_t of_lane = swizzled<kRowBytes>(row * kRowBytes + column * sizeof(uint32_t));
          ptx::load_shared(of_fragment + of_lane, input.pairs[i / 2].words[i % 2]);
        }
      }
    }
  }
};

// The chunk at (row, column) of a matrix of as many rows and columns as C, zero beyond them, as TMA brings it: neighbouring lanes take
// neighbouring elements.
template <typename G, typename T, typename View>
__device__ __forceinline__ void copy_in(const T* data, int64_t ld, const View& c, uint32_t buffer, int row, int column) {
  using Word = typename UnsignedOf<sizeof(T)>::Type;
  constexpr int kRowBytes = G::kStoreColumns * static_cast<int>(sizeof(T));
  constexpr int kElements = G::kStoreRows * G::kStoreColumns;
#pragma unroll 4
  for (int i = threadIdx.x % kWarpSize; i < kElements; i += kWarpSize) {
    const int y = i / G::kStoreColumns, x = i % G::kStoreColumns;
    Word word{};
    if (row + y < c.rows && column + x < c.columns) word = __ldg(reinterpret_cast<const Word*>(data + (row + y) * ld + column + x));
    ptx::store_shared(buffer + swizzled<kRowBytes>(y * kRowBytes + x * sizeof(T)), word);
  }
}

// The loads of one warp. What lane 0 issues all lanes count.
template <typename G, typename Body>
struct OperandLoad<G, Body, true> {
  static constexpr int kBuffers = G::kEpilogueBuffers;
  static constexpr int kRowBytes = G::kStoreColumns * static_cast<int>(sizeof(typename Body::Loaded));
  static constexpr int kBoxBytes = G::kStoreRows * kRowBytes;
  static constexpr int kChunk = G::kSwapAB ? G::kStoreRows : G::kStoreColumns;
  static constexpr int kChunks = G::kWidthOfOne / kChunk;  // of a wgmma block
  static constexpr int kStoring = ceil_div(kBuffers, 2);     // buffers that stores may still read, that of a chunk with them
  static_assert(kBuffers >= 2 && kBuffers <= 32, "some are loaded while one is stored, and each has a bit");
  static_assert(kRowBytes >= kTmaUnitBytes && kRowBytes <= G::kStoreWidth, "a box of the matrix fits one of C");
  using Chunk = LoadedChunk<G::kSwapAB, kRowBytes>;

  bool is_on = false;  // by TMA
  uint32_t staging;
  uint32_t barriers;
  uint32_t parities = 0;  // bit by bit the phase of each buffer's barrier that is waited for next
  TileCoord first;        // of this warp's part of the tile
  int next_block;         // of the box that is asked for next
  int next_chunk;
  int passed;             // chunks of the tile, those that are computed

  // By the warp behind the one that sets up the ring, at the same time.
  template <typename Shared>
  __device__ __forceinline__ static void init(const Shared& shared) {
    if (threadIdx.x / kWarpSize != 1) return;
    for (int number = threadIdx.x % kWarpSize; number < G::kLoadBarriers; number += kWarpSize) {
      ptx::mbarrier_init(shared.loaded(number), 1);
    }
    ptx::fence_mbarrier_init();
  }

  // The first boxes, from the buffer on that is staged to next.
  template <typename View>
  __device__ __forceinline__ void begin(const TensorMap& map, const View& c, TileCoord part, int buffer) {
    if (!is_on) return;
    first = part;
    next_block = next_chunk = passed = 0;
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<0>();
#pragma unroll 1
    for (int i = 0; i < kBuffers; ++i) load_next(map, c, (buffer + i) % kBuffers);
    __syncwarp();  // what follows waits and multiplies together
  }

  // Until the chunk at (row, column) is in `buffer`.
  template <typename Args, typename View>
  __device__ __forceinline__ void bring(const Args& args, const View& c, int row, int column, int buffer) {
    if (is_on) {
      ptx::mbarrier_wait(barrier(buffer), parities >> buffer & 1);
      parities ^= 1u << buffer;
      return;
    }
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<kBuffers - 1>();
    __syncwarp();  // the buffer's last readers are done
    int number = 0;
    body::FragmentInputs<Body, G::kSwapAB> inputs;
    Body::visit(args, inputs, [&](auto&, const void* data, int64_t ld) {
      using Loaded = typename Body::Loaded;
      if (number++ != body::kLoadedInput<Body>) return;
      copy_in<G>(static_cast<const Loaded*>(data), ld, c, staging + buffer * G::kStoreBytes, row, column);
    });
    __syncwarp();
  }

  // Behind a chunk that is computed, in `buffer`, and not stored yet: the next box, to the buffer of the one kStoring chunks ago.
  template <typename View>
  __device__ __forceinline__ void go_on(const TensorMap& map, const View& c, int buffer) {
    if (!is_on || passed++ < kStoring) return;
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<kStoring - 1>();
    load_next(map, c, (buffer + kBuffers - kStoring) % kBuffers);
  }

 private:
  __device__ __forceinline__ uint32_t barrier(int buffer) const {
    return barriers + buffer * static_cast<uint32_t>(sizeof(uint64_t));
  }

  // Chunks follow each other as they are stored: those of a block that lie in C, then the next block's.
  template <typename View>
  __device__ __forceinline__ void load_next(const TensorMap& map, const View& c, int buffer) {
    const int along = next_chunk * kChunk, across = next_block * kBlockM;
    const TileCoord box{first.m + (G::kSwapAB ? along : across), first.n + (G::kSwapAB ? across : along)};
    if (next_block >= G::kBlocksOfOne || box.m >= c.rows || box.n >= c.columns) return;
    if (threadIdx.x % kWarpSize == 0) {
      ptx::mbarrier_arrive_expect_bytes(barrier(buffer), kBoxBytes);  // what lies out of bounds counts too
      ptx::tma_load(map, staging + buffer * G::kStoreBytes, barrier(buffer), box.n, box.m);
    }
    const bool is_last = next_chunk + 1 == kChunks || (G::kSwapAB ? box.m + kChunk >= c.rows : box.n + kChunk >= c.columns);
    next_block += is_last;
    next_chunk = is_last ? 0 : next_chunk + 1;
  }
};

}  // namespace autokernel::sm90
