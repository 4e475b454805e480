// Products of 8-bit floats whose factors have scales of blocks: A one for each 128 of K of a row, B one for each 128 of K of 128
// columns of C. What sm90_matmul.cuh takes from here in place of its own geometry, producer and main loop.
//
// A stage is as deep as a block, so wgmma sums each block apart, and its sums are scaled and added to those of the tile in fp32, which
// has more digits than wgmma keeps of 8-bit floats.
//
// Scales lie as `[m, k / 128]` and `[n / 128, k / 128]`: four neighbours along K are what TMA can load of a row. So those of four
// stages come with the first of them, to a ring of their own behind all that other kernels have in shared memory.
#pragma once

#include "sm90_block_scales_mainloop.cuh"
#include "sm90_producer.cuh"
#include "sm90_schedule.cuh"

namespace autokernel::sm90 {

// Wraps a Problem of e4m3 or e5m2.
template <typename Problem>
struct BlockScaled : Problem {};

template <typename Problem, typename Schedule, int kProductsSummed>
struct Geometry<BlockScaled<Problem>, Schedule, kProductsSummed>
    : Geometry<Problem, scales::Unscaled<Schedule>, kProductsSummed> {
  using Base = Geometry<Problem, scales::Unscaled<Schedule>, kProductsSummed>;

  static constexpr int kSharedBytes = Schedule::kSharedBytes;
  static constexpr int kScalesOfProduct = ceil_div(Base::kColumns, scales::kBlock);
  static constexpr int kScales = kScalesOfProduct * Base::kProducts;  // of B that a tile meets at a time

  // wgmma leaves the sums of a block's part of a tile here before they are scaled.
  static constexpr int kPartWidth = Base::kWidth < scales::kMostPartWidth ? Base::kWidth : scales::kMostPartWidth;
  static constexpr int kParts = Base::kWidth / kPartWidth;
  static constexpr int kScaleRegisters = Base::kSwapAB ? Base::kWidth / 4 + Base::kBlocks : 2 * Base::kBlocks + kScales;
  // A producer that loads scales and attends to a split of K needs more registers than others: consumers leave it some.
  static constexpr bool kSharesRegisters = Base::kSplits && Base::kSwapAB && Base::kConsumers == 2;
  static constexpr int kProducerRegisters = kSharesRegisters ? 56 : Base::kProducerRegisters;
  static constexpr int kConsumerRegisters = kSharesRegisters ? 224 : Base::kConsumerRegisters;
  // Two parts are in registers where there is one a stage.
  static constexpr bool kOverlaps = Base::kBlocks * kParts == 1 && Base::kConsumers < 3;

  static_assert(Problem::kBlock == scales::kBlock, "these blocks alone");
  static_assert(Base::kTileK == scales::kBlock, "a stage is as deep as a block");
  static_assert(scales::kBlock % Base::kColumns == 0 || Base::kColumns % scales::kBlock == 0,
                "tile_n_begins_where_blocks_do");
  static_assert(Base::kAccumulators + (kOverlaps ? 2 : 1) * (kPartWidth / 2 + kScaleRegisters) <=
                    scales::most_registers(Base::kConsumers),
                "block_scales_fit_registers");
  static_assert(kSharedBytes <= kMaxSharedBytes, "shared_memory_fits");
};

namespace scales {

// Which scales the product of a tile has, of rows by their tensor map and of columns by the first one's address: all products have the
// same ones, but where sm90_block_scales_batch.cuh says otherwise.
template <typename Args, typename = void>
struct RowsOf {
  template <typename Place>
  __device__ __forceinline__ static OnlyMatrix matrix(const Args&, const Place&) {
    return {};
  }
};
template <typename Args, typename = void>
struct ColumnsOf {
  template <int kProducts, typename Place>
  __device__ __forceinline__ static void find(const float* (&)[kProducts], const Args&, const Place&) {}
};

// The scales of B of the blocks that a tile meets, four along K at a time: requested long before they are used. Beyond the last block
// there are zeros.
template <typename G, typename Args>
struct OfColumns {
  const float* first[G::kProducts];
  int64_t ld[G::kProducts];
  int blocks_n;
  int blocks_k;
  float loaded[G::kScales][kAtOnce];

  __device__ __forceinline__ OfColumns(const Args& args) : blocks_n(ceil_div(args.n, kBlock)), blocks_k(ceil_div(args.k, kBlock)) {
    first[0] = static_cast<const float*>(args.scales);
    ld[0] = args.ldscales;
    if constexpr (G::kProducts == 2) {
      first[1] = static_cast<const float*>(args.scales2);
      ld[1] = args.ldscales2;
    }
  }

  // Requests those from block `k_block` on, of the columns from `column` on.
  __device__ __forceinline__ void load(int column, int k_block) {
#pragma unroll
    for (int number = 0; number < G::kScales; ++number) {
      const int product = number / G::kScalesOfProduct;
      const int n_block = column / kBlock + number % G::kScalesOfProduct;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool inside = n_block < blocks_n && k_block + i < blocks_k;
        loaded[number][i] = inside ? __ldg(first[product] + n_block * ld[product] + k_block + i) : 0.0f;
      }
    }
  }

  // To shared memory.
  __device__ __forceinline__ void store(uint32_t to) const {
#pragma unroll
    for (int number = 0; number < G::kScales; ++number) {
#pragma unroll
      for (int i = 0; i < kAtOnce; i += 2) {
        ptx::store_shared(to + (number * kAtOnce + i) * static_cast<uint32_t>(sizeof(float)), loaded[number][i],
                          loaded[number][i + 1]);
      }
    }
  }
};

}  // namespace scales

template <typename Args, typename Problem, typename Schedule, int kProducts, typename Walk>
__device__ __forceinline__ void produce(const Args& args,
                                        const SharedLayout<Geometry<BlockScaled<Problem>, Schedule, kProducts>>& shared,
                                        const Walk& walk) {
  using G = Geometry<BlockScaled<Problem>, Schedule, kProducts>;
  scales::OfColumns<G, Args> of_columns(args);
  RingCursor<G::kStages> cursor, slots;
  for (int number = walk.first(); number < walk.count(); number += walk.stride()) {
    const auto [tile, k_blocks] = walk.step(number);
    const auto origin = walk.origin(tile);
    scales::ColumnsOf<Args>::find(of_columns.first, args, origin);
    of_columns.load(origin.n, scales::first_of_four(k_blocks.first));
#pragma unroll 1  // the producer has few registers, and a known K tempts the compiler
    for (int step = 0; step < k_blocks.count; ++step) {
      const int stage = cursor.stage, k_block = k_blocks.first + step, k = k_block * G::kTileK;
      const uint32_t full = shared.full(stage);
      const int four = scales::first_of_four(k_block);
      const bool brings_scales = step == 0 || k_block == four;
      ptx::mbarrier_wait(shared.empty(stage), cursor.parity ^ 1);
      const scales::Slot<G> slot(shared, slots.stage);
      if (brings_scales) {
        of_columns.store(slot.of_columns());
        scales::Slot<G>::announce(shared, stage, slots.stage, k_block - four);
      }
      ptx::mbarrier_arrive_expect_bytes(full, G::kStageBytes + (brings_scales ? scales::kRowsBytes<G> : 0));
      load_a<G>(args.a_map, origin.a(), shared.a(stage), full, origin.m, k, walk.n_in_cluster);
      load_second_factors<G>(args, shared, origin, walk, stage, k);
      // Each CTA of a cluster loads its own: they are few.
      if (brings_scales) {
        scales::RowsOf<Args>::matrix(args, origin).load(args.a_scales_map, slot.of_rows(), full, four, origin.m);
        const int next = four + scales::kAtOnce;
        if (next < k_blocks.first + k_blocks.count) of_columns.load(origin.n, next);
        slots.advance();
      }
      cursor.advance();
    }
  }
}

// What Matmul calls for a tile; more special than the one for other factors.
template <typename G, int kBlocks, int kHeld, int kStages, typename Issued, typename Problem, typename Schedule, int kProducts>
__device__ __forceinline__ void multiply_tile(
    float (&acc)[kBlocks][kHeld], const SharedLayout<Geometry<BlockScaled<Problem>, Schedule, kProducts>>& shared,
    RingCursor<kStages>& cursor, int k_blocks, int first, const Issued& issued) {
  scales::Tile<Geometry<BlockScaled<Problem>, Schedule, kProducts>>::multiply(acc, shared, cursor, k_blocks, first, issued);
}

}  // namespace autokernel::sm90
