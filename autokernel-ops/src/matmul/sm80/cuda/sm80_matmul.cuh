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
#include "ptx/sm80.cuh"
#include "raster.cuh"
#include "sm80_factors.cuh"
#include "sm80_schedule.cuh"
#include "sm80_store.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

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
struct Matmul : Shape<Schedule, Staged<Problem>, sizeof(typename Problem::Output), Body::kRegisters, kProducts> {
  using S = Shape<Schedule, Staged<Problem>, sizeof(typename Problem::Output), Body::kRegisters, kProducts>;
  using F = Factors<Problem, S, kProducts>;
  using OperandA = typename F::OperandA;
  using OperandB = typename F::OperandB;
  using Fragments = typename F::Fragments;
  using Lane = typename F::Lane;
  using Sums = typename F::template Sums<Args>;
  using Output = typename Problem::Output;

  static constexpr int kSteps = S::kTileK * Staged<Problem>::kBytesOfA / kMmaBytes;
  static constexpr int kNumbersOfB = Staged<Problem>::kNumbersOfB;

  // sums += A * B over all of K. The last tile along K, the only ragged one, is taken first: its bounds are
  // checked once, before the loop, and every tile inside the loop is whole. `b`: of each product; their tiles lie one behind
  // the other in a stage.
  template <bool kVectorOnly, typename... B>
  __device__ __forceinline__ static void accumulate(Sums& sums, int k, uint32_t shared, Lane lane, const OperandA& a, const B&... b) {
    constexpr int kRingBytes = S::kStages * S::kStageBytes;
    // Fragment loads are on the critical path, so they go before the copies; but the narrow copies need the
    // registers that the fragments would occupy.
    constexpr bool kLoadsFirst = kVectorOnly;
    const int tiles = static_cast<int>(ceil_div<int64_t>(k, S::kTileK));

    const auto copy_whole = [&](uint32_t stage, int index) {  // index >= 1 in the order of the loop
      const int64_t k_origin = static_cast<int64_t>(index - 1) * S::kTileK;
      a.template copy_whole<kVectorOnly>(stage, k_origin, index < tiles);
      uint32_t target = stage + S::kTileBytesA;
      ((b.template copy_whole<kVectorOnly>(target, k_origin / kNumbersOfB, index < tiles), target += S::kTileBytesB), ...);
    };

    const int last_origin = (tiles - 1) * S::kTileK;
    a.copy_last(shared, last_origin, k - last_origin);
    uint32_t target = shared + S::kTileBytesA;
    ((b.copy_last(target, last_origin / kNumbersOfB, (k - last_origin) / kNumbersOfB), target += S::kTileBytesB), ...);
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

    // Where the tile begins that is multiplied at that turn of the loop.
    const auto k_of = [&](int index) { return index == 0 ? last_origin : (index - 1) * S::kTileK; };
    if constexpr (Sums::kOfGroups) sums.begin(k_of(0));
    wait_for_next_tile();
    F::load(fragments[0], shared, lane, 0);
#pragma unroll 1
    for (int index = 0; index < tiles; ++index) {
      if constexpr (Sums::kOfGroups) sums.request(k_of(index), index + 1 < tiles ? k_of(index + 1) : -1);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps - 1) {
          wait_for_next_tile();
          advance(read_offset);  // after the last tile: a stage of zeros, loaded and never multiplied
        }
        if (kLoadsFirst) F::load(fragments[(step + 1) % 2], shared + read_offset, lane, (step + 1) % kSteps);
        if (step == 0) {  // refill the stage that was read before the last barrier
          copy_whole(shared + write_offset, index + S::kStages - 1);
          ptx::cp_async_commit();
          advance(write_offset);
        }
        if (!kLoadsFirst) F::load(fragments[(step + 1) % 2], shared + read_offset, lane, (step + 1) % kSteps);
        sums.multiply(fragments[step % 2], step);
      }
      if constexpr (Sums::kOfGroups) sums.end_tile();
    }
    ptx::cp_async_wait<0>();
  }

  // The same by the widest copies that every operand allows.
  template <typename... B>
  __device__ __forceinline__ static void accumulate_widely(Sums& sums, int k, uint32_t shared, Lane lane, const OperandA& a, const B&... b) {
    if (a.access == Access::kVector && (... && (b.access == Access::kVector))) {
      accumulate<true>(sums, k, shared, lane, a, b...);
    } else {
      accumulate<false>(sums, k, shared, lane, a, b...);
    }
  }

  // The sums of a warp tile, of which `rows` and `columns` exist, to `c`, where it begins.
  __device__ __forceinline__ static void store(const Args& args, typename Sums::Whole sums, Output* c, int64_t ldc, TileCoord first, int rows, int columns, uint32_t slab) {
    using Store = SlabStore<Problem, S::kWarpColumns>;
#pragma unroll
    for (int i = 0; i < F::kBlocksM; ++i) {
      if constexpr (Body::kExists) {
        const int row = first.m + i * kSlabRows;
        const auto place = body::Place<false>::of_lane(row, first.n, first.m + rows, first.n + columns);
        constexpr int kFragments = 2 * F::kBlocksOfOne;
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

    Sums sums(args, tile_column + warp_column, n);
    if (k > 0) {
      const OperandA a = OperandA::of_a(args, tile_row, m);
      const OperandB b(args.b, args.ldb, tile_column, n);
      const Lane lane(warp_row, warp_column);
      if constexpr (kProducts == 2) {
        const OperandB b2(args.b2, args.ldb2, tile_column, n);
        accumulate_widely(sums, k, shared, lane, a, b, b2);
      } else {
        accumulate_widely(sums, k, shared, lane, a, b);
      }
      __syncthreads();  // the pipeline's memory becomes the slabs
    }

    const int row = tile_row + warp_row;
    const int column = tile_column + warp_column;
    Output* c = static_cast<Output*>(args.c) + row * args.ldc + column;
    store(args, sums.whole(), c, args.ldc, {row, column}, m - row, n - column, shared + warp * S::kSlabBytes);
    if constexpr (body::kStatistics<Body> > 0) {
      __syncthreads();  // all parts of the tile are left
      if (body::arrive<S::kWarps>(args, tile.m, warp, tiles_n)) {
        body::bring_together<Body, S::kWarps>(args, body::TileRows<S::kTileM>::of(tile.m, m), n, warp);
      }
    }
  }
};

}  // namespace autokernel::sm80
