// From accumulators to C: apply the body or the epilogue in fp32, convert, stage in shared memory, store.
//
// A warp stores its own 16 rows in chunks of kStoreColumns columns and needs no other warp: it writes a chunk to
// its staging buffer and hands it to the copy engine, which runs on while the next chunk, or the next tile's main
// loop, begins. Swapped, it stores its own 16 columns in chunks of kStoreRows rows. C that TMA cannot address is
// written from the same buffer by ordinary, coalesced stores.
#pragma once

#include "body.cuh"
#include "ptx/sm90.cuh"
#include "sm90_staging.cuh"
#include "sm90_tiles.cuh"

namespace autokernel::sm90 {

// Of a word of elements the first `count`, one at least and not all of them.
template <typename Output, typename Word>
__device__ __forceinline__ void store_first(Output* to, Word word, int count) {
  using Element = typename UnsignedOf<sizeof(Output)>::Type;
  constexpr int kElements = sizeof(Word) / sizeof(Output);
#pragma unroll
  for (int i = 0; i + 1 < kElements; ++i) {
    if (i == 0 || i < count) reinterpret_cast<Element*>(to)[i] = static_cast<Element>(word >> 8 * sizeof(Output) * i);
  }
}

// A staged chunk to C at (row, column), in words of one to four elements, neighbouring lanes to neighbouring words, so
// that the stores of a warp coalesce.
template <typename Word, typename G>
__device__ __forceinline__ void copy_chunk(const OutputView<typename G::Output>& c, uint32_t buffer, int row,
                                           int column) {
  constexpr int kPerWord = sizeof(Word) / sizeof(typename G::Output);
  constexpr int kRowWords = G::kStoreColumns / kPerWord;
  constexpr int kLanesPerRow = kRowWords < kWarpSize ? kRowWords : kWarpSize;
  constexpr int kRowsPerPass = kWarpSize / kLanesPerRow;
  const int lane = threadIdx.x % kWarpSize;
  const int rows = min(G::kStoreRows, c.rows - row);
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
        store_first(destination + x, word, columns - x);
      }
    }
  }
}

// In the place of the loads of a matrix that the body reads: there are none.
template <typename G, typename Body, bool kLoads = body::kLoads<Body>>
struct OperandLoad {};

template <typename Problem, typename G, typename Body, typename Args, typename Batch>
struct Epilogue {
  using Output = typename G::Output;
  using Tiles = sm90::Tiles<G, Batch>;
  const TensorMap& map;
  batch::Seen<Args, Batch> args;
  OutputView<Output> c;
  typename Tiles::MatrixOfC matrix;  // of C's tensor map
  bool with_tma;
  bool paired;       // elements narrower than a word can be stored by words: every row begins at a multiple of one
  uint32_t staging;  // this warp's buffers
  int buffer = 0;
  OperandLoad<G, Body> loads;

  __device__ __forceinline__ static void prefetch(const Args& launched) {
    if (launched.c_is_mapped) ptx::prefetch_tensor_map(launched.c_map);
    if constexpr (kLoads) {
      if (Body::is_mapped(launched)) ptx::prefetch_tensor_map(Body::loaded_map(launched));
    }
  }

  __device__ Epilogue(const Args& launched, OutputView<Output> view, bool store_with_tma, uint32_t warp_staging)
      : map(launched.c_map), args(launched), c(view), with_tma(store_with_tma), staging(warp_staging) {
    paired = is_paired();
  }

  // The matrix that the body reads comes by TMA, if there is a map of it, to barriers of this warp, if that stores anything. C is stored so
  // too, as other stores read their buffer without the copy engine knowing of it.
  __device__ __forceinline__ void load_by(uint32_t barriers, bool stores) {
    loads.is_on = stores && with_tma && Body::is_mapped(args);
    loads.staging = staging;
    loads.barriers = barriers;
  }

  // What the body reads of the tile at `place`, in this warp's rows or, swapped, columns from the `offset`th on, is asked for in two steps.
  //
  // Before the main loop: the boxes of a matrix that there are buffers for, and what lanes will read of rows, columns and scalars.
  __device__ __forceinline__ void begin_operands(const TileCoord& place, int offset) {
    if constexpr (kLoads) {
      loads.begin(Body::loaded_map(args), c, part_of(place, offset), buffer);
    }
    if constexpr (kReads) {
      for_each_block(place, offset, [&](body::Index first) {
        body::touch<Body, G::kSwapAB, kPartRows, kPartColumns>(args, first, {c.rows, c.columns});
      });
    }
  }

  // As its last wgmmas run: what lanes will read of matrices, to L2, which might let go of it if it came before.
  __device__ __forceinline__ void request_operands(const TileCoord& place, int offset) {
    if constexpr (kLoads) {
      if (loads.is_on) return;
    }
    if constexpr (kReads) {
      for_each_block(place, offset, [&](body::Index first) {
        body::prefetch<Body, G::kSwapAB, kPartRows, kPartColumns>(args, first, {c.rows, c.columns});
      });
    }
  }

  // Goes on with tiles of the product that has one at `place`.
  __device__ __forceinline__ void enter(const Args& launched, const typename Tiles::Place& place) {
    if constexpr (Batch::kMany != batch::Many::kNone) {
      Tiles::enter(launched, place, args, c);
      matrix = place.c();
      paired = is_paired();
    }
  }

  // One wgmma block: `row` and `column` in C of its first element held by this warp. `others`: a second product's sums, where
  // there are two, as they lie in `acc`.
  template <typename... Other>
  __device__ __forceinline__ void store_block(float (&acc)[G::kWidth / 2], int row, int column,
                                              const Other*... others) {
    if (row >= c.rows || column >= c.columns) return;
    Statistics statistics;
    store_from<0>(acc, row, column, statistics, others...);
    if constexpr (!G::kSwapAB) {
      statistics.leave(args, body::Place<false>::of_lane(row, column, c.rows, c.columns));
    }
  }

  // The buffers must outlive the copy engine's reads.
  __device__ __forceinline__ void finish() { ptx::tma_store_wait_read<0>(); }

 private:
  static constexpr bool kLoads = body::kLoads<Body>;
  // Whether operands can be asked for ahead: many products have some of their own, which are known when a tile ends.
  static constexpr bool kReads = Body::kExists && Batch::kMany == batch::Many::kNone;
  using Statistics = body::RowStatistics<Body, G::kSwapAB>;
  static_assert(!Body::kExists || G::kAccumulators + Body::kRegisters <= kMostRegisters, "accumulators_fit_registers");
  static constexpr bool kIsGrouped = Batch::kMany == batch::Many::kGroups;
  static constexpr int kPartRows = G::kSwapAB ? G::kTileM : kWarpRows;  // of a wgmma block, what one warp stores
  static constexpr int kPartColumns = G::kSwapAB ? kWarpRows : G::kColumns;

  __device__ __forceinline__ static TileCoord part_of(const TileCoord& place, int offset) {
    return {place.m + (G::kSwapAB ? 0 : offset), place.n + (G::kSwapAB ? offset : 0)};
  }

  template <typename Visit>
  __device__ __forceinline__ static void for_each_block(const TileCoord& place, int offset, const Visit& visit) {
#pragma unroll
    for (int block = 0; block < G::kBlocksOfOne; ++block) {
      const TileCoord part = part_of(place, offset + block * kBlockM);
      visit(body::Index{part.m, part.n});
    }
  }

  // By TMA, which clips a box to C alone: not one with rows of another group.
  __device__ __forceinline__ bool stores_box(int row) const {
    if constexpr (kIsGrouped) return with_tma && Tiles::is_whole(args, c, row);
    return with_tma;
  }

  __device__ __forceinline__ bool is_paired() const {
    constexpr int kPerWord = sizeof(uint32_t) / sizeof(Output);
    return c.ld % kPerWord == 0 && reinterpret_cast<uintptr_t>(c.data) % sizeof(uint32_t) == 0;
  }

  static constexpr int kChunk = G::kSwapAB ? G::kStoreRows : G::kStoreColumns;  // columns of wgmma
  static constexpr int kLast = G::kWidthOfOne - kChunk;
  static_assert(!Body::kExists || G::kWidthOfOne % kChunk == 0, "a body runs once on each element");

  // The chunks from column kFirst of wgmma on.
  template <int kFirst, typename... Other>
  __device__ __forceinline__ void store_from(float (&acc)[G::kWidth / 2], int row, int column,
                                             Statistics& statistics, const Other*... others) {
    if (G::kSwapAB ? row >= c.rows : column >= c.columns) return;
    if constexpr (kLoads) {
      const auto place = body::Place<G::kSwapAB>::of_lane(row, column, c.rows, c.columns);
      loads.bring(args, c, row, column, buffer);
      const typename OperandLoad<G, Body>::Chunk chunk{staging + buffer * G::kStoreBytes};
      body::apply_beside<Body, G::kSwapAB, kChunk / 8, G::kRequestedRegisters>(chunk, args, acc + kFirst / 2, place, statistics,
                                                                               (others + kFirst / 2)...);
      loads.go_on(Body::loaded_map(args), c, buffer);
    } else if constexpr (Body::kExists) {
      const auto place = body::Place<G::kSwapAB>::of_lane(row, column, c.rows, c.columns);
      body::apply<Body, G::kSwapAB, kChunk / 8, G::kRequestedRegisters, kIsGrouped>(args, acc + kFirst / 2, place,
                                                                        statistics, (others + kFirst / 2)...);
    }
    const uint32_t address = staging + buffer * G::kStoreBytes;
    // Groups belong to the thread that committed them. All buffers but this one may still be read.
    if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<G::kEpilogueBuffers - 1>();
    __syncwarp();  // the buffer's last readers are done
    if constexpr (G::kSwapAB) {
      stage_transposed<Problem, G, kFirst>(acc, address);
    } else {
      stage_rows<Problem, G, kFirst>(acc, address);
    }
    if (stores_box(row)) {
      ptx::fence_async_proxy();  // by each lane, for what it wrote
      __syncwarp();
      if (threadIdx.x % kWarpSize == 0) {
        matrix.store(map, address, column, row);
        ptx::tma_store_commit();
      }
    } else {
      __syncwarp();
      copy_out(address, row, column);
      if constexpr (kIsGrouped) {
        // Boxes before and behind may go by TMA: a group of nothing keeps the count by which buffers are waited for.
        if (threadIdx.x % kWarpSize == 0) ptx::tma_store_commit();
      }
    }
    buffer = (buffer + 1) % G::kEpilogueBuffers;
    if constexpr (kFirst + kChunk < G::kWidthOfOne) {
      // The last one ends with the tile and, where chunks do not divide it, stores some of the one before again.
      constexpr int kNext = kFirst + kChunk < kLast ? kFirst + kChunk : kLast;
      constexpr int kStep = kNext - kFirst;
      store_from<kNext>(acc, row + (G::kSwapAB ? kStep : 0), column + (G::kSwapAB ? 0 : kStep), statistics, others...);
    }
  }

  __device__ __forceinline__ void copy_out(uint32_t address, int row, int column) {
    if constexpr (sizeof(Output) < sizeof(uint32_t)) {
      if (!paired) return copy_chunk<typename UnsignedOf<sizeof(Output)>::Type, G>(c, address, row, column);
    }
    copy_chunk<uint32_t, G>(c, address, row, column);
  }
};

}  // namespace autokernel::sm90
