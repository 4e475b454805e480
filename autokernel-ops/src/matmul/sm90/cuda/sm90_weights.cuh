// Products whose second factor, the weights, holds whole numbers of 8 or 4 bits and whose first one floats of 16 bits: what
// sm90_matmul.cuh takes from here in place of its own geometry, producer and main loop.
//
// The tile is computed transposed: its 64 rows of wgmma are rows of the weights, which come as they are to shared memory. Each warp
// reads what it holds of them, makes pairs of floats of that in registers (unpack.cuh), and wgmma takes them as A from there, or of
// tiles of few rows mma of each warp (sm90_weights_few.cuh, and sm90_weights_pieces.cuh where warps share K). Nothing is rounded. Where
// groups of numbers along K have a scale for each row, the sums of a group are scaled, in fp32, and added to those of the tile.
//
// A stage is a swizzle row of 128 bytes of the weights deep, so several swizzle rows of the other factor lie in it, panel by panel of 64
// along K; the scales lie behind, kGroup of K a row, and behind these the zero points.
#pragma once

#include "sm90_producer.cuh"
#include "sm90_schedule.cuh"
#include "sm90_weights_few.cuh"
#include "sm90_weights_mainloop.cuh"
#include "sm90_weights_pieces.cuh"

namespace autokernel::sm90 {

// Wraps a Problem that has Weight, the type of the second factor, and kGroup, how many of K share a scale of type Scale, or 0.
template <typename Problem>
struct Quantised : Problem {};

namespace weights {

constexpr int kPanelK = kSwizzleBytes / 2;  // of 16-bit elements
constexpr int kTmaAlignment = 128;           // of where a box begins

template <typename Problem, int kGroup = Problem::kGroup>
struct ScaleBytes {
  static constexpr int value = sizeof(typename Problem::Scale);
};
template <typename Problem>
struct ScaleBytes<Problem, 0> {
  static constexpr int value = 0;
};

// What a stage holds.
template <typename Problem, typename Schedule>
struct Stage {
  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kPanels = kTileK / kPanelK;
  static constexpr int kGroups = Problem::kGroup > 0 ? kTileK / Problem::kGroup : 0;
  static constexpr int kABytes = kPanels * Schedule::kTileM * kSwizzleBytes;
  static constexpr int kBBytes = Schedule::kTileN * kSwizzleBytes;
  static constexpr int kScaleBytes = kGroups * Schedule::kTileN * ScaleBytes<Problem>::value;
  // Zero points are a byte each; those of a second product begin where TMA may write.
  static constexpr int kZeroBytes = kHasZeros<Problem> ? kGroups * Schedule::kTileN : 0;
  static constexpr int kZeroRoom = kHasZeros<Problem> ? kZeroBytes + kTmaAlignment : 0;
  static constexpr int kDelivered = kABytes + kBBytes + kScaleBytes + kZeroBytes;
  // The next stage begins with a whole atom of the swizzle.
  static constexpr int kBytes = ceil_div(kABytes + kBBytes + kScaleBytes + kZeroRoom, kSwizzleAtomBytes) * kSwizzleAtomBytes;

  // Where the zero points of a product lie, of the stage whose weights begin at `b`.
  __device__ __forceinline__ static uint32_t zeros(uint32_t b, int product, int columns) {
    return b + kBBytes + kScaleBytes + product * (ceil_div(kGroups * columns, kTmaAlignment) * kTmaAlignment);
  }
};

// Whether consumers give panels of the other factor back one by one: of wide tiles beside numbers of 4 bits a stage is so large that few
// fit, and what of it has been multiplied makes room for a stage behind.
template <typename Problem, typename Schedule>
constexpr bool kGivesPanelsBack = kNumbers<typename Problem::Weight> > 1 && Schedule::kTileM > kMostColumnsByWarps;

// The matrices of scales and zero points that a tile's product has, by their tensor maps: all products have the same ones, but where
// sm90_weights_batch.cuh says otherwise.
template <typename Args, typename = void>
struct TablesOf {
  template <typename Place>
  __device__ __forceinline__ TablesOf(const Args&, const Place&) {}
  __device__ __forceinline__ static OnlyMatrix scales() { return {}; }
  __device__ __forceinline__ static OnlyMatrix scales2() { return {}; }
  __device__ __forceinline__ static OnlyMatrix zeros() { return {}; }
  __device__ __forceinline__ static OnlyMatrix zeros2() { return {}; }
};

// The schedule as factors of 16 bits alone would have it, by which all that does not lie in a stage is worked out.
template <typename Problem, typename Schedule>
struct OfOneType : Schedule {
  static constexpr int kTileK = kPanelK;
  static constexpr int kPanelBarriers = kGivesPanelsBack<Problem, Schedule> ? Schedule::kStages * Stage<Problem, Schedule>::kPanels : 0;
  static constexpr int kSharedBytes =
      Schedule::kSharedBytes - kPanelBarriers * static_cast<int>(sizeof(uint64_t)) -
      Schedule::kStages * (Stage<Problem, Schedule>::kBytes - (Schedule::kTileM + Schedule::kTileN) * kSwizzleBytes);
};

}  // namespace weights

template <typename Problem, typename Schedule, int kProductsSummed>
struct Geometry<Quantised<Problem>, Schedule, kProductsSummed>
    : Geometry<Problem, weights::OfOneType<Problem, Schedule>, kProductsSummed> {
  using Base = Geometry<Problem, weights::OfOneType<Problem, Schedule>, kProductsSummed>;
  using Stage = weights::Stage<Problem, Schedule>;
  using Weight = typename Problem::Weight;
  using Scales = weights::Scales<Problem>;

  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kGroup = Problem::kGroup;
  static constexpr bool kZeros = weights::kHasZeros<Problem>;
  static constexpr int kPanels = Stage::kPanels;
  static constexpr int kABytes = Stage::kABytes;
  static constexpr int kBBytes = Stage::kBBytes;
  static constexpr int kStageBytes = Stage::kBytes;
  static constexpr int kSharedBytes = Schedule::kSharedBytes;

  static constexpr bool kByWarps = weights::multiplies_by_warps<Weight>(Base::kWidth, kGroup);
  static constexpr bool kSharesK =
      kByWarps && weights::shares_k(Base::kWidth, Base::kBlocks, kTileK, Base::kStages, Base::kConsumers, kGroup);
  static constexpr int kStageReaders = kSharesK ? weights::Pieces(kTileK).of_stage * Base::kSharing : Base::kTileWarps;  // warps
  static constexpr int kRowsApart = kBlockM;  // of one block and the next
  static constexpr bool kByPanels = weights::kGivesPanelsBack<Problem, Schedule>;

  // Warps that multiply on their own need fewer, and a producer that attends to a split of K more than others.
  static constexpr bool kSharesRegisters = kByWarps && Base::kConsumers == 2;
  static constexpr int kProducerRegisters = kSharesRegisters ? 72 : Base::kProducerRegisters;
  static constexpr int kConsumerRegisters = kSharesRegisters ? 216 : Base::kConsumerRegisters;

  static_assert(Base::kSwapAB, "weights_are_the_rows_of_wgmma");
  static_assert(kTileK == kSwizzleBytes * weights::kNumbers<Weight>, "a row of a stage is one swizzle row of weights");
  static_assert(kGroup == 0 || kGroup == 32 || kGroup == 64 || kGroup == 128, "groups divide a stage");
  // Of a block: two units of 64 along K, one being made as the other is multiplied; more with words of 4-bit numbers beside sums of groups,
  // unless there is one group at once.
  static constexpr bool kHoldsWords =
      kGroup > 0 && weights::kNumbers<Weight> > 1 && (Base::kWidth <= weights::kWide || kGroup < weights::kMostOfGroup);
  static constexpr int kFragmentRegisters = (kHoldsWords ? 48 : 32) + (kZeros ? 8 : 0);
  static_assert(Base::kAccumulators * (kGroup > 0 ? 2 : 1) + kFragmentRegisters * Base::kBlocks <=
                    (Base::kConsumers == 3 ? 120 : weights::kMostRegisters),
                "fragments_fit_registers");
  static_assert(kSharedBytes <= kMaxSharedBytes, "shared_memory_fits");
};

// Of warps that share K not every one reads each stage, and panels of the first factor may have barriers of their own.
template <typename Problem, typename Schedule, int kProducts>
__device__ __forceinline__ void init_ring(const SharedLayout<Geometry<Quantised<Problem>, Schedule, kProducts>>& shared) {
  using G = Geometry<Quantised<Problem>, Schedule, kProducts>;
  for (int stage = 0; stage < G::kStages; ++stage) {
    ptx::mbarrier_init(shared.full(stage), 1);
    ptx::mbarrier_init(shared.empty(stage), G::kStageReaders * G::kClusterSize);
  }
  if constexpr (G::kByPanels) {
    for (int panel = 0; panel < G::kStages * G::kPanels; ++panel) {
      ptx::mbarrier_init(shared.empty(weights::barrier_of_panel<G>(0, panel)), kEmptyArrivals<G>);
    }
  }
  ptx::fence_mbarrier_init();
}

template <typename Args, typename Problem, typename Schedule, int kProducts, typename Walk>
__device__ __forceinline__ void produce(const Args& args,
                                        const SharedLayout<Geometry<Quantised<Problem>, Schedule, kProducts>>& shared,
                                        const Walk& walk) {
  using G = Geometry<Quantised<Problem>, Schedule, kProducts>;
  RingCursor<G::kStages> cursor;
  for (int number = walk.first(); number < walk.count(); number += walk.stride()) {
    const auto [tile, k_blocks] = walk.step(number);
    const auto origin = walk.origin(tile);
    const weights::TablesOf<Args> tables(args, origin);
#pragma unroll 1  // the producer has few registers, and a known K tempts the compiler
    for (int block = k_blocks.first; block < k_blocks.first + k_blocks.count; ++block) {
      const int stage = cursor.stage;
      const uint32_t full = shared.full(stage);
      ptx::mbarrier_wait(shared.empty(stage), cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_bytes(full, G::Stage::kDelivered);
      const int k = block * G::kTileK;
      const int unit = k / weights::kNumbers<typename G::Weight>;
      load_second_factors<G>(args, shared, origin, walk, stage, unit);
      if constexpr (G::kGroup > 0) {
        const int group = k / G::kGroup;
        tables.scales().load(args.scales_map, G::Scales::template at<G>(shared, stage, 0), full, origin.n, group);
        if constexpr (kProducts == 2) {
          tables.scales2().load(args.scales2_map, G::Scales::template at<G>(shared, stage, 1), full, origin.n, group);
        }
        if constexpr (G::kZeros) {
          const uint32_t b = shared.b(stage);
          tables.zeros().load(args.zeros_map, G::Stage::zeros(b, 0, G::kColumns), full, origin.n, group);
          if constexpr (kProducts == 2) {
            tables.zeros2().load(args.zeros2_map, G::Stage::zeros(b, 1, G::kColumns), full, origin.n, group);
          }
        }
      }
#pragma unroll
      for (int panel = 0; panel < G::kPanels; ++panel) {
        if constexpr (G::kByPanels) ptx::mbarrier_wait(shared.empty(weights::barrier_of_panel<G>(stage, panel)), cursor.parity ^ 1);
        load_a<G>(args.a_map, origin.a(), shared.a(stage) + panel * G::kTileM * kSwizzleBytes, full, origin.m,
                  k + panel * weights::kPanelK, walk.n_in_cluster);
      }
      cursor.advance();
    }
  }
}

// What Matmul calls for a tile; more special than the one for other factors.
template <typename G, int kBlocks, int kHeld, int kStages, typename Issued, typename Problem, typename Schedule, int kProducts>
__device__ __forceinline__ void multiply_tile(
    float (&acc)[kBlocks][kHeld], const SharedLayout<Geometry<Quantised<Problem>, Schedule, kProducts>>& shared,
    RingCursor<kStages>& cursor, int k_blocks, int first, const Issued& issued) {
  using Factors = Geometry<Quantised<Problem>, Schedule, kProducts>;
  if constexpr (Factors::kSharesK) {
    weights::TileOfPieces<Factors>::multiply(acc, shared, cursor, k_blocks, first, issued);
  } else if constexpr (Factors::kByWarps) {
    weights::TileOfFew<Factors>::multiply(acc, shared, cursor, k_blocks, first, issued);
  } else {
    weights::Tile<Factors>::multiply(acc, shared, cursor, k_blocks, first, issued);
  }
}

}  // namespace autokernel::sm90
