// From accumulators to C: apply the epilogue in fp32, convert, stage in shared memory, store.
//
// A warp stores its own 16 rows in chunks of kStoreColumns columns and needs no other warp: it writes a chunk to
// its staging buffer and hands it to the copy engine, which runs on while the next chunk, or the next tile's main
// loop, begins. C that TMA cannot address is written from the same buffer by ordinary, coalesced stores.
#pragma once

#include "ptx/sm90.cuh"
#include "sm90_mainloop.cuh"

namespace autokernel::sm90 {

// C as ordinary stores see it.
template <typename Output>
struct OutputView {
  Output* data;
  int64_t ld;
  int rows;
  int columns;
};

// Byte `offset` of a chunk as the copy engine expects it: the row's number, modulo the swizzle's period, is xored
// into the index of the 16-byte unit. The mask is 7, 3, 1 or 0 for a row of 128, 64, 32 or 16 bytes. It also
// spreads a column of 16-byte units over all banks.
template <int kRowBytes>
__device__ __forceinline__ uint32_t swizzled(uint32_t offset) {
  constexpr uint32_t kMask = kRowBytes / 16 - 1;
  return offset ^ (((offset >> 7) & kMask) << 4);
}

// One chunk of the warp's accumulators, epilogue applied, to its staging buffer.
template <typename Problem, typename G, int kFirstColumn>
__device__ __forceinline__ void stage_chunk(const float (&acc)[G::kTileN / 2], uint32_t buffer) {
  using Output = typename G::Output;
  const int lane = threadIdx.x % kWarpSize;
  const auto value = [&](int index) { return Problem::epilogue(acc[kFirstColumn / 2 + index]); };

  if constexpr (sizeof(Output) == 2) {
    const auto packed = [&](int index) { return pack2<Output>(value(index), value(index + 1)); };
    // stmatrix: 8x8 blocks straight from the wgmma fragment; lanes address rows, then the next 8 columns.
    const uint32_t start = (lane % kWarpRows) * G::kStoreWidth + (lane / kWarpRows) * 16;
#pragma unroll
    for (int column = 0; column + 16 <= G::kStoreColumns; column += 16) {
      const int i = column / 2;
      ptx::stmatrix_x4(buffer + swizzled<G::kStoreWidth>(start + column * 2), packed(i), packed(i + 2),
                       packed(i + 4), packed(i + 6));
    }
    if constexpr (G::kStoreColumns == 8) {
      ptx::stmatrix_x2(buffer + (lane % kWarpRows) * G::kStoreWidth, packed(0), packed(2));
    }
  } else {
    const uint32_t start = (lane / 4) * G::kStoreWidth + (lane % 4) * 8;
#pragma unroll
    for (int column = 0; column < G::kStoreColumns; column += 8) {
      const int i = column / 2;
      const uint32_t upper = start + column * 4;
      const uint32_t lower = upper + 8 * G::kStoreWidth;
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(upper), value(i), value(i + 1));
      ptx::store_shared(buffer + swizzled<G::kStoreWidth>(lower), value(i + 2), value(i + 3));
    }
  }
}

// A staged chunk to C at (row, column), in words of one or two elements, neighbouring lanes to neighbouring words.
template <typename Word, typename G>
__device__ __forceinline__ void copy_chunk(const OutputView<typename G::Output>& c, uint32_t buffer, int row,
                                           int column) {
  constexpr int kPerWord = sizeof(Word) / sizeof(typename G::Output);
  constexpr int kRowWords = G::kStoreColumns / kPerWord;
  constexpr int kLanesPerRow = kRowWords < kWarpSize ? kRowWords : kWarpSize;
  constexpr int kRowsPerPass = kWarpSize / kLanesPerRow;
  const int lane = threadIdx.x % kWarpSize;
  const int rows = min(kWarpRows, c.rows - row);
  const int columns = c.columns - column;

#pragma unroll 2
  for (int y = lane / kLanesPerRow; y < rows; y += kRowsPerPass) {
    auto* const destination = c.data + (row + y) * c.ld + column;
#pragma unroll
    for (int word_index = 0; word_index < kRowWords; word_index += kLanesPerRow) {
      const int x = (word_index + lane % kLanesPerRow) * kPerWord;
      Word word;
      ptx::load_shared(buffer + swizzled<G::kStoreWidth>(y * G::kStoreWidth + x * sizeof(typename G::Output)), word);
      if (x + kPerWord <= columns) {
        *reinterpret_cast<Word*>(destination + x) = word;
      } else if (x < columns) {
        *reinterpret_cast<uint16_t*>(destination + x) = static_cast<uint16_t>(word);  // the last, odd column
      }
    }
  }
}

template <typename Problem, typename G>
struct Epilogue {
  using Output = typename G::Output;
  const TensorMap& map;
  OutputView<Output> c;
  bool with_tma;
  bool paired;       // two 16-bit elements at a time are 4-byte aligned in every row
  uint32_t staging;  // this warp's buffers
  int buffer = 0;

  __device__ Epilogue(const TensorMap& c_map, OutputView<Output> view, bool store_with_tma, uint32_t warp_staging)
      : map(c_map), c(view), with_tma(store_with_tma), staging(warp_staging) {
    paired = c.ld % 2 == 0 && reinterpret_cast<uintptr_t>(c.data) % 4 == 0;
  }

  // One wgmma block: `row` and `column` of its first element held by this warp.
  __device__ __forceinline__ void store_block(const float (&acc)[G::kTileN / 2], int row, int column) {
    if (row >= c.rows) return;
    store_from<0>(acc, row, column);
  }

  // The buffers must outlive the copy engine's reads.
  __device__ __forceinline__ void finish() { ptx::tma_store_wait_read<0>(); }

 private:
  template <int kFirstColumn>
  __device__ __forceinline__ void store_from(const float (&acc)[G::kTileN / 2], int row, int column) {
    if (column + kFirstColumn >= c.columns) return;
    const uint32_t address = staging + buffer * G::kStoreBytes;
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<G::kEpilogueBuffers - 1>();
    __syncwarp();  // the buffer's last readers are done
    stage_chunk<Problem, G, kFirstColumn>(acc, address);
    if (with_tma) {
      ptx::fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % kWarpSize == 0) {
        ptx::tma_store(map, address, column + kFirstColumn, row);
        ptx::tma_store_commit();
      }
    } else {
      __syncwarp();
      copy_out(address, row, column + kFirstColumn);
    }
    buffer = (buffer + 1) % G::kEpilogueBuffers;
    if constexpr (kFirstColumn + G::kStoreColumns < G::kTileN) {
      store_from<kFirstColumn + G::kStoreColumns>(acc, row, column);
    }
  }

  __device__ __forceinline__ void copy_out(uint32_t address, int row, int column) {
    if constexpr (sizeof(Output) == 2) {
      if (!paired) return copy_chunk<uint16_t, G>(c, address, row, column);
    }
    copy_chunk<uint32_t, G>(c, address, row, column);
  }
};

}  // namespace autokernel::sm90
