// What a schedule means: every size the kernel derives from (Problem, Schedule), and the rules a schedule must keep, by
// the names that they have in docs/schedules.md. The store box and the shared memory come with the schedule: the launch
// needs them too.
#pragma once

#include "layout.cuh"
#include "sm90_sums.cuh"
#include "types.cuh"

namespace autokernel::sm90 {

// TMA and its swizzle.
constexpr int kTmaUnitBytes = 16;      // what TMA aligns and clips to, and what a swizzle moves
constexpr int kSwizzleBytes = 128;     // one row of a swizzled operand box
constexpr int kSwizzleRows = 8;        // rows after which the 128-byte swizzle pattern repeats
constexpr int kSwizzleAtomBytes = kSwizzleBytes * kSwizzleRows;
constexpr int kPanel = 64;             // rows or columns of C of one box of what lies across K, of 16 bits: one swizzle row

// wgmma, m64nNk16 on 16-bit elements, m64nNk32 on 8-bit ones.
constexpr int kBlockM = 64;            // its rows
constexpr int kWarpRows = 16;          // those that one warp holds
constexpr int kMaxWidth = 256;         // most columns, N
constexpr int kWidthStep = 8;          // N is a multiple: one 8x8 matrix of stmatrix
constexpr int kBlockDepthBytes = 32;   // its depth, whatever the elements
constexpr int kBlockRows = 16;         // that of what lies across K, whose elements have 16 bits

// Limits.
constexpr int kMaxBlocksSide = 256;    // the longest side of a TMA box
constexpr int kMaxSharedBytes = 232448;  // 227 KiB, what one block may have on Hopper
constexpr int kMostRegisters = 215;    // of accumulators and a body, in the largest crew there is

// Barriers at which boxes of a matrix arrive that a body reads. Only the schedules of kernels that load one say so.
template <typename Schedule, typename = void>
constexpr int kLoadBarriersOf = 0;
template <typename Schedule>
constexpr int kLoadBarriersOf<Schedule, decltype(void(Schedule::kLoadBarriers))> = Schedule::kLoadBarriers;

// kProductsSummed: of the same A, 1 or 2.
template <typename Problem, typename Schedule, int kProductsSummed>
struct Geometry {
  using Input = typename Problem::Input;
  using Output = typename Problem::Output;
  using Sums = SumsOf<Input>;
  using Sum = typename Sums::Sum;

  static constexpr int kTileM = Schedule::kTileM;
  static constexpr int kTileN = Schedule::kTileN;
  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kStages = Schedule::kStages;
  static constexpr int kConsumers = Schedule::kConsumers;
  static constexpr bool kPingPong = Schedule::kPingPong;
  static constexpr int kClusterM = Schedule::kClusterM;
  static constexpr int kClusterN = Schedule::kClusterN;
  static constexpr int kClusterSize = kClusterM * kClusterN;
  static constexpr bool kAMajorM = kTransposesA<Problem>;
  static constexpr bool kBMajorN = !Problem::kTransposeB;
  static constexpr bool kSwapAB = Schedule::kSwapAB;
  static constexpr bool kSplits = Schedule::kSplits;  // whether a launch says how many CTAs share a tile: args.split_k
  static constexpr bool kStreamK = Schedule::kStreamK;

  // Columns of C that a tile covers. A tile of B has as many columns of each product's second factor, one after the other.
  static constexpr int kProducts = kProductsSummed;
  static constexpr int kColumns = kTileN / kProducts;

  // Consumer warpgroups that share one output tile; in ping-pong each one has a tile to itself.
  static constexpr int kSharing = kPingPong ? 1 : kConsumers;
  // wgmma multiplies blocks of 64 rows by up to 256 columns. Its rows are those of the tile or, swapped, its columns.
  static constexpr int kBlocksSide = kSwapAB ? kTileN : kTileM;
  static constexpr int kWidth = kSwapAB ? kTileM : kTileN;
  static constexpr int kBlocks = kBlocksSide / (kBlockM * kSharing);  // of one consumer
  static constexpr int kAccumulators = kBlocks * kWidth / 2;          // registers a thread
  // What one product has of a consumer's blocks, or of their width.
  static constexpr int kBlocksOfOne = kSwapAB ? kBlocks / kProducts : kBlocks;
  static constexpr int kWidthOfOne = kSwapAB ? kWidth : kWidth / kProducts;

  // Threads and registers. The first warpgroup produces; it gives its registers to the consumers: with two,
  // 128 * (40 + 2 * 232) = 64512 of the SM's 65536 registers are used, with three all, 128 * (32 + 3 * 160).
  static constexpr int kThreads = (1 + kConsumers) * kWarpgroupSize;
  static constexpr int kMinBlocks = 1;
  static constexpr bool kMoveRegisters = kConsumers > 1;  // one consumer has 255 from the start
  static constexpr int kProducerRegisters = kConsumers == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : 232;
  // Three consumers: ptxas wants each wgmma to fit the 128 registers a thread that 512 threads start with.
  // Split or stream K: adding what arrives needs registers beside the accumulators. Rust takes fewer
  // where the epilogue's own temporaries need some.
  static constexpr int kMaxAccumulators = kConsumers == 3 ? 96 : kSplits || kStreamK ? 128 : 192;

  // For operands of a body that are on their way at once.
  static constexpr int kRequestedRegisters = kAccumulators > 128 ? 8 : 32;

  // Shared memory: stages, then staging for the epilogue, then barriers.
  static constexpr int kABytes = kTileM * kSwizzleBytes;
  static constexpr int kBBytes = kTileN * kSwizzleBytes;
  static constexpr int kStageBytes = kABytes + kBBytes;
  static constexpr int kASliceRows = kTileM / kClusterN;  // what this CTA loads of a tile its cluster shares
  static constexpr int kBSliceColumns = kColumns / kClusterM;      // of each product

  // One warp's store box: its 16 rows by some columns of the tile or, swapped, its 16 columns by some rows.
  static constexpr int kStoreRows = Schedule::kStoreRows;
  static constexpr int kStoreColumns = Schedule::kStoreColumns;
  static constexpr int kStoreWidth = kStoreColumns * static_cast<int>(sizeof(Output));  // bytes of a row
  static constexpr int kStoreBytes = kStoreRows * kStoreWidth;
  static constexpr int kEpilogueBuffers = Schedule::kStoreBuffers;  // two: a store reads one, the next chunk fills one

  // Split K: the CTAs of a cluster exchange partial sums in the memory of the ring. Of so many, one receives at most this.
  static constexpr int kTileWarps = kWarpsPerWarpgroup * kSharing;
  static constexpr int partial_bytes(int split_k) {
    constexpr int kBytesOfWarp = kTileM * kTileN / kTileWarps * static_cast<int>(sizeof(float));
    return ceil_div(kTileWarps, split_k) * (split_k - 1) * kBytesOfWarp;
  }

  // Stream K: what a CTA has of the workspace.
  static constexpr int kSlotBytes = kTileM * kTileN * static_cast<int>(sizeof(float));
  static constexpr int kFlagBytes = kWarpsPerWarpgroup * kSharing * static_cast<int>(sizeof(uint32_t));

  static constexpr int kStagingBytes = kConsumers * kWarpsPerWarpgroup * kEpilogueBuffers * kStoreBytes;
  static constexpr int kLoadBarriers = kLoadBarriersOf<Schedule>;
  static constexpr int kBarrierBytes = (2 * kStages + kLoadBarriers) * static_cast<int>(sizeof(uint64_t));
  static constexpr int kSharedBytes = Schedule::kSharedBytes;
  static_assert(kSharedBytes == kSwizzleAtomBytes + kStages * kStageBytes + kStagingBytes + kBarrierBytes,
                "the launch asks for what SharedLayout lays out, aligned to a swizzle atom");
  static_assert(kSwapAB ? kStoreColumns == kWarpRows && kStoreRows <= kTileM && kStoreRows % 8 == 0
                        : kStoreRows == kWarpRows && kStoreColumns <= kColumns && kStoreColumns % 8 == 0,
                "store boxes lie in what a warp holds of the tile");

  static_assert(sizeof(Input) == 2 || (!kAMajorM && !kBMajorN), "layout_is_one_that_wgmma_reads");
  static_assert(kTileK * static_cast<int>(sizeof(Input)) == kSwizzleBytes, "a row of a stage is one swizzle row");
  static_assert(kConsumers >= 1 && kConsumers <= 3, "consumers_one_to_three");
  static_assert(!kPingPong || kConsumers == 2, "ping_pong_takes_two_consumers");
  static constexpr bool kBlocksFit =
      kBlocksSide >= kBlockM && kBlocksSide <= kMaxBlocksSide &&
      kBlocksSide % (kBlockM * kSharing * (kSwapAB ? kProducts : 1)) == 0;
  static_assert(kSwapAB || kBlocksFit, "tile_m_splits_into_wgmma_blocks");
  static_assert(!kSwapAB || kBlocksFit, "swapped_tile_n_splits_into_wgmma_blocks");
  static_assert(kSwapAB || (kTileN >= 16 && kTileN <= kMaxWidth && kColumns % kWidthStep == 0),
                "tile_n_is_a_wgmma_width");
  static_assert(!kSwapAB || (kTileM >= kWidthStep && kTileM <= kMaxWidth && kTileM % kWidthStep == 0),
                "swapped_tile_m_is_a_wgmma_width");
  static_assert(sizeof(Output) > 1 || kSwapAB || kColumns % kTmaUnitBytes == 0, "bytes_are_stored_by_sixteen");
  static_assert(Sums::has_width(kWidth), "width_is_one_of_whole_numbers");
  static_assert(!kBMajorN || kColumns % kPanel == 0, "row_major_b_takes_whole_swizzle_rows");
  static_assert(!kAMajorM || kTileM % kPanel == 0, "transposed_a_takes_whole_swizzle_rows");
  static_assert(kAccumulators <= kMaxAccumulators, "accumulators_fit_registers");
  static_assert(kStages >= 2 && kStages <= 16, "stages_two_to_sixteen");
  static_assert((kClusterM == 1 || kClusterN == 1) && (kClusterSize == 1 || kClusterSize == 2 || kClusterSize == 4),
                "cluster_of_one_two_or_four_in_a_row");
  static_assert(kColumns % ((kBMajorN ? kPanel : kSwizzleRows) * kClusterM) == 0,
                "cluster_slices_b_in_whole_swizzle_atoms");
  static_assert(kTileM % ((kAMajorM ? kPanel : kSwizzleRows) * kClusterN) == 0,
                "cluster_slices_a_in_whole_swizzle_atoms");
  static_assert(!kSplits || (!kPingPong && kClusterSize == 1), "split_k_is_cooperative_without_multicast");
  static_assert(!kSplits || partial_bytes(2) <= kStages * kStageBytes, "split_k_partials_fit_the_ring");
  static_assert(!kStreamK || !kSplits, "stream_k_splits_no_other_way");
  static_assert(kSharedBytes <= kMaxSharedBytes, "shared_memory_fits");
};

}  // namespace autokernel::sm90
