// C = epilogue(A * B), or what a body makes of it, on the tensor cores of sm_80 and everything after it: mma.sync, ldmatrix and cp.async.
//
// A block computes one kTileM x kTileN tile of C, its warps a grid of kWarpsM x kWarpsN warp tiles; with two products of the
// same A, half as many columns, of which a warp holds both sums. Tiles of A and B
// stream along K through a ring of kStages shared memory buffers; while a warp multiplies the fragments of one
// step, 32 bytes deep, it already loads those of the next, across tile boundaries too.
//
// What a schedule means and the rules that it keeps are in sm80_schedule.cuh. The emitted file prints struct Args.
#pragma once

#include "batch.cuh"
#include "body.cuh"
#include "epilogue.cuh"
#include "fast_math.cuh"
#include "layout.cuh"
#include "ptx/sm80.cuh"
#include "raster.cuh"
#include "sm80_copy.cuh"
#include "sm80_elements.cuh"
#include "sm80_schedule.cuh"
#include "sm80_shared_tile.cuh"
#include "sm80_store.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

// One operand of a block: the rows (or columns, if K runs along the rows) of its tile, for all of K.
template <int kElementBytes, int kExtent, int kTileK, int kThreads, bool kRowsAreK>
struct Operand {
  static_assert(kElementBytes == 2 || !kRowsAreK, "layout_is_one_that_ldmatrix_reads");  // it transposes 16-bit elements alone
  static constexpr int kRows = kRowsAreK ? kTileK : kExtent;
  static constexpr int kColumns = kRowsAreK ? kExtent : kTileK;
  using Layout = SharedTile<kRows, kColumns * kElementBytes>;

  const uint8_t* origin;  // at k = 0
  int64_t row_pitch;
  int extent;  // rows or columns left in the matrix
  Access access;

  __device__ __forceinline__ Operand(const void* base, int64_t ld, int first, int end)
      : origin(static_cast<const uint8_t*>(base) + (kRowsAreK ? first : first * ld) * kElementBytes),
        row_pitch(ld * kElementBytes),
        extent(end - first),
        // Columns that run along the extent end inside this tile at the edge of C only.
        access(widest_access<kElementBytes>(ld, kRowsAreK && extent < kExtent ? extent : 0)) {}

  // Copies the tile at `k_origin`, of which `k_left` (any number) is inside the matrix.
  __device__ __forceinline__ void copy_last(uint32_t shared, int64_t k_origin, int k_left) const {
    const Access last = kRowsAreK ? access : widest_access<kElementBytes>(row_pitch / kElementBytes, k_left);
    copy_tile<kElementBytes, kRows, kColumns, kThreads, Check::kBoth>(shared, at(k_origin, k_left, extent), threadIdx.x, last);
  }

  // Copies a tile that is inside the matrix along K, or zeros if it does not exist.
  template <bool kVectorOnly>
  __device__ __forceinline__ void copy_whole(uint32_t shared, int64_t k_origin, bool exists) const {
    constexpr Check kCheck = kRowsAreK ? Check::kColumns : Check::kRows;
    copy<kVectorOnly, kCheck>(shared, at(k_origin, kTileK, exists ? extent : 0));
  }

  // The lane's place in the tile for ldmatrix: 16 rows or columns by 32 bytes of K from `first` on and k = 0. A: rows, then the second
  // 16 bytes of K. B: the 8x8 matrices in the order of the mma's registers, both of the first 8 columns before the others.
  __device__ __forceinline__ static uint32_t lane_offset_a(int first) {
    const int lane = threadIdx.x % kWarpSize;
    if constexpr (kRowsAreK) return Layout::offset(lane / 16 * 8 + lane % 8, first / 8 + lane / 8 % 2);
    return Layout::offset(first + lane % 16, lane / 16);
  }
  __device__ __forceinline__ static uint32_t lane_offset_b(int first) {
    const int lane = threadIdx.x % kWarpSize;
    if constexpr (kRowsAreK) return Layout::offset(lane % 16, first / 8 + lane / 16);
    return Layout::offset(first + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  }

  // Address of the block of 16 `block` along the extent at step `step` along K. The chunk moves by an XOR, as no bit
  // of the lane's chunk is in the way, and the row by an addition that leaves the swizzle as it is.
  __device__ __forceinline__ static uint32_t fragment_address(uint32_t tile, uint32_t lane_offset, int block,
                                                              int step) {
    const int chunk_index = kRowsAreK ? block : step;
    const int row_index = kRowsAreK ? step : block;
    return tile + (lane_offset ^ (chunk_index * 2 * kChunkBytes)) + row_index * kBlock * Layout::kRowPitch;
  }

 private:
  __device__ __forceinline__ GlobalTile at(int64_t k_origin, int k_left, int extent_left) const {
    const int64_t k_pitch = kRowsAreK ? row_pitch : kElementBytes;
    const uint8_t* first = origin + k_origin * k_pitch;
    if constexpr (kRowsAreK) return GlobalTile{first, row_pitch, k_left, extent_left};
    return GlobalTile{first, row_pitch, extent_left, k_left};
  }

  template <bool kVectorOnly, Check kCheck>
  __device__ __forceinline__ void copy(uint32_t shared, const GlobalTile& tile) const {
    if constexpr (kVectorOnly) {
      copy_tile<kElementBytes, kRows, kColumns, kThreads, Access::kVector, kCheck>(shared, tile, threadIdx.x);
    } else {
      copy_tile<kElementBytes, kRows, kColumns, kThreads, kCheck>(shared, tile, threadIdx.x, access);
    }
  }
};

// The rows of a product.
struct Rows {
  int first;
  int end;
};

// Which product a block computes a tile of: the only one, or where headers of batches say it, one of many.
template <typename Batch, batch::Many kMany = Batch::kMany>
struct PartOf;

// Args: a is [m, k] row-major or with Problem::kTransposeA [k, m], b [k, n] or with Problem::kTransposeB [n, k], c [m, n].
// Bases are 16-byte aligned. Leading dimensions count elements and may be any number >= the row length. m, n and k are at most 2^31 - 2^16, so that
// a coordinate may point past the last tile. With two products b2 is the second one's b. A batch asks for its header.
template <typename Problem, typename Schedule, typename Args, typename Body = body::None, int kProducts = 1,
          typename Batch = batch::None>
struct Matmul : Shape<Schedule, sizeof(typename Problem::Input), sizeof(typename Problem::Output), Body::kRegisters, kProducts> {
  using S = Shape<Schedule, sizeof(typename Problem::Input), sizeof(typename Problem::Output), Body::kRegisters, kProducts>;
  using Input = typename Problem::Input;
  using Output = typename Problem::Output;
  using Sum = typename Mma<Input>::Sum;

  static constexpr int kSteps = S::kTileKBytes / kMmaBytes;
  static constexpr int kBlocksM = S::kWarpTileM / kBlock;
  static constexpr int kBlocksN = S::kWarpTileN / kBlock;
  static constexpr int kBlocksOfOne = kBlocksN / kProducts;

  static constexpr bool kTransposeA = kTransposesA<Problem>;
  using OperandA = Operand<sizeof(Input), S::kTileM, S::kTileK, S::kThreads, kTransposeA>;
  using OperandB = Operand<sizeof(Input), S::kColumns, S::kTileK, S::kThreads, !Problem::kTransposeB>;
  using Accumulators = Sum[kBlocksM][2 * kBlocksN][4];
  using WholeSums = sm80::WholeSums<Sum, kBlocksM, 2 * kBlocksN>;

  struct Fragments {
    uint32_t a[kBlocksM][4];
    uint32_t b[kBlocksN][4];  // two 8-wide fragments of two registers each
  };

  struct LaneOffsets {
    uint32_t a, b;
  };

  __device__ __forceinline__ static void load_fragments(Fragments& fragments, uint32_t stage, LaneOffsets lane,
                                                        int step) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      const uint32_t address = OperandA::fragment_address(stage, lane.a, i, step);
      if constexpr (kTransposeA) {
        ptx::ldmatrix_x4_trans(fragments.a[i], address);
      } else {
        ptx::ldmatrix_x4(fragments.a[i], address);
      }
    }
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      const uint32_t tile = stage + S::kTileBytesA + j / kBlocksOfOne * S::kTileBytesB;
      const uint32_t address = OperandB::fragment_address(tile, lane.b, j % kBlocksOfOne, step);
      if constexpr (Problem::kTransposeB) {
        ptx::ldmatrix_x4(fragments.b[j], address);
      } else {
        ptx::ldmatrix_x4_trans(fragments.b[j], address);
      }
    }
  }

  __device__ __forceinline__ static void multiply(Accumulators& accumulators, const Fragments& fragments) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int column = 0; column < 2 * kBlocksN; ++column) {
        const int j = i % 2 == 0 ? column : 2 * kBlocksN - 1 - column;  // serpentine: the turn reuses a fragment
        Mma<Input>::multiply(accumulators[i][j], fragments.a[i], fragments.b[j / 2][j % 2 * 2],
                             fragments.b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

  // accumulators += A * B over all of K. The last tile along K, the only ragged one, is taken first: its bounds are
  // checked once, before the loop, and every tile inside the loop is whole. `b`: of each product; their tiles lie one behind
  // the other in a stage.
  template <bool kVectorOnly, typename... B>
  __device__ __forceinline__ static void accumulate(Accumulators& accumulators, int k, uint32_t shared,
                                                    LaneOffsets lane, const OperandA& a, const B&... b) {
    constexpr int kRingBytes = S::kStages * S::kStageBytes;
    // Fragment loads are on the critical path, so they go before the copies; but the narrow copies need the
    // registers that the fragments would occupy.
    constexpr bool kLoadsFirst = kVectorOnly;
    const int tiles = static_cast<int>(ceil_div<int64_t>(k, S::kTileK));

    const auto copy_whole = [&](uint32_t stage, int index) {  // index >= 1 in the order of the loop
      const int64_t k_origin = static_cast<int64_t>(index - 1) * S::kTileK;
      a.template copy_whole<kVectorOnly>(stage, k_origin, index < tiles);
      uint32_t target = stage + S::kTileBytesA;
      ((b.template copy_whole<kVectorOnly>(target, k_origin, index < tiles), target += S::kTileBytesB), ...);
    };

    const int last_origin = (tiles - 1) * S::kTileK;
    a.copy_last(shared, last_origin, k - last_origin);
    uint32_t target = shared + S::kTileBytesA;
    ((b.copy_last(target, last_origin, k - last_origin), target += S::kTileBytesB), ...);
    ptx::cp_async_commit();
#pragma unroll(kVectorOnly ? S::kStages : 1)
    for (int index = 1; index < S::kStages - 1; ++index) {
      copy_whole(shared + index * S::kStageBytes, index);
      ptx::cp_async_commit();
    }

    const auto wait_for_next_tile = [] {
      ptx::cp_async_wait<S::kStages - 2>();
      __syncthreads();  // everyone's copies have landed, and everyone has read the tile before
    };

    Fragments fragments[2];  // one multiplies while the other loads
    uint32_t read_offset = 0;
    uint32_t write_offset = (S::kStages - 1) * S::kStageBytes;
    const auto advance = [](uint32_t& offset) {
      offset = offset == kRingBytes - S::kStageBytes ? 0 : offset + S::kStageBytes;
    };

    wait_for_next_tile();
    load_fragments(fragments[0], shared, lane, 0);
#pragma unroll 1
    for (int index = 0; index < tiles; ++index) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps - 1) {
          wait_for_next_tile();
          advance(read_offset);  // after the last tile: a stage of zeros, loaded and never multiplied
        }
        if (kLoadsFirst) load_fragments(fragments[(step + 1) % 2], shared + read_offset, lane, (step + 1) % kSteps);
        if (step == 0) {  // refill the stage that was read before the last barrier
          copy_whole(shared + write_offset, index + S::kStages - 1);
          ptx::cp_async_commit();
          advance(write_offset);
        }
        if (!kLoadsFirst) load_fragments(fragments[(step + 1) % 2], shared + read_offset, lane, (step + 1) % kSteps);
        multiply(accumulators, fragments[step % 2]);
      }
    }
    ptx::cp_async_wait<0>();
  }

  // The same by the widest copies that every operand allows.
  template <typename... B>
  __device__ __forceinline__ static void accumulate_widely(Accumulators& accumulators, int k, uint32_t shared,
                                                           LaneOffsets lane, const OperandA& a, const B&... b) {
    if (a.access == Access::kVector && (... && (b.access == Access::kVector))) {
      accumulate<true>(accumulators, k, shared, lane, a, b...);
    } else {
      accumulate<false>(accumulators, k, shared, lane, a, b...);
    }
  }

  // The sums of a warp tile, of which `rows` and `columns` exist, to `c`, where it begins.
  __device__ __forceinline__ static void store(const Args& args, WholeSums sums, Output* c, int64_t ldc,
                                               TileCoord first, int rows, int columns, uint32_t slab) {
    using Store = SlabStore<Problem, S::kWarpColumns>;
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      if constexpr (Body::kExists) {
        const int row = first.m + i * kSlabRows;
        const auto place = body::Place<false>::of_lane(row, first.n, first.m + rows, first.n + columns);
        constexpr int kFragments = 2 * kBlocksOfOne;
        body::RowStatistics<Body, false> statistics;
        if constexpr (kProducts == 2) {
          const float* const others = sums.fragments[i][kFragments];
          body::apply<Body, false, kFragments, S::kRequestedRegisters>(args, sums.fragments[i][0], place, statistics, others);
        } else {
          body::apply<Body, false, kFragments, S::kRequestedRegisters>(args, sums.fragments[i][0], place, statistics);
        }
        statistics.leave(args, place);
      }
      Store::stage(slab, sums.fragments[i]);
      __syncwarp();
      const OutputSlab<Output> of_c{c + i * kSlabRows * ldc, ldc, rows - i * kSlabRows, columns};
      if constexpr (Batch::kMany == batch::Many::kGroups) {
        Store::store_anywhere(slab, of_c);  // no stand-in for C: what no group has must stay
      } else {
        Store::store(slab, of_c);
      }
      __syncwarp();
    }
  }

  __device__ __forceinline__ static void run(const Args& args) {
    if constexpr (Batch::kMany == batch::Many::kNone) {
      compute(args, {0, args.m}, blockIdx.x);
    } else {
      const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
      const int tiles_n = static_cast<int>(ceil_div<int64_t>(n, S::kColumns));
      PartOf<Batch>::template visit<S::kTileM>(
          args, tiles_n, [](const Args& seen, Rows rows, int number) { compute(seen, rows, number); });
    }
  }

  // Tile `number` of a product.
  __device__ __forceinline__ static void compute(const Args& args, Rows rows, int number) {
    extern __shared__ __align__(kChunksPerLine * kChunkBytes) uint8_t shared_memory[];
    const uint32_t shared = ptx::shared_address(shared_memory);
    const int m = rows.end;
    const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
    const int k = Problem::kKnownK > 0 ? Problem::kKnownK : args.k;

    const int tiles_m = static_cast<int>(ceil_div<int64_t>(m - rows.first, S::kTileM));
    const int tiles_n = static_cast<int>(ceil_div<int64_t>(n, S::kColumns));
    const TileCoord tile = tile_coord(number, tiles_m, tiles_n, raster_of(args));
    const int tile_row = rows.first + tile.m * S::kTileM;
    const int tile_column = tile.n * S::kColumns;
    const int warp = threadIdx.x / kWarpSize;
    const int warp_row = warp / S::kWarpsN * S::kWarpTileM;
    const int warp_column = warp % S::kWarpsN * S::kWarpColumns;

    Accumulators accumulators = {};
    if (k > 0) {
      const OperandA a(args.a, args.lda, tile_row, m);
      const OperandB b(args.b, args.ldb, tile_column, n);
      const LaneOffsets lane{OperandA::lane_offset_a(warp_row), OperandB::lane_offset_b(warp_column)};
      if constexpr (kProducts == 2) {
        const OperandB b2(args.b2, args.ldb2, tile_column, n);
        accumulate_widely(accumulators, k, shared, lane, a, b, b2);
      } else {
        accumulate_widely(accumulators, k, shared, lane, a, b);
      }
      __syncthreads();  // the pipeline's memory becomes the slabs
    }

    const int row = tile_row + warp_row;
    const int column = tile_column + warp_column;
    Output* c = static_cast<Output*>(args.c) + row * args.ldc + column;
    store(args, WholeSums(accumulators), c, args.ldc, {row, column}, m - row, n - column, shared + warp * S::kSlabBytes);
    if constexpr (body::kStatistics<Body> > 0) {
      __syncthreads();  // all parts of the tile are left
      if (body::arrive<S::kWarps>(args, tile.m, warp, tiles_n)) {
        body::bring_together<Body, S::kWarps>(args, body::TileRows<S::kTileM>::of(tile.m, m), n, warp);
      }
    }
  }
};

}  // namespace autokernel::sm80
