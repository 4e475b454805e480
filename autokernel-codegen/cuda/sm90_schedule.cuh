// What a schedule means: every size the kernel derives from (Problem, Schedule), and the rules a schedule must keep.
// The list of rules and formulas is in sm90_matmul.cuh; the Rust side mirrors it by the same names.
#pragma once

#include "types.cuh"

namespace autokernel::sm90 {

// TMA and its swizzle.
constexpr int kTmaUnitBytes = 16;      // what TMA aligns and clips to, and what a swizzle moves
constexpr int kSwizzleBytes = 128;     // one row of a swizzled operand box
constexpr int kSwizzleRows = 8;        // rows after which the 128-byte swizzle pattern repeats
constexpr int kSwizzleAtomBytes = kSwizzleBytes * kSwizzleRows;
constexpr int kPanelN = 64;            // columns of one box of row-major B: one swizzle row

// wgmma, m64nNk16.
constexpr int kBlockM = 64;            // its rows
constexpr int kWarpRows = 16;          // those that one warp holds
constexpr int kMaxWidth = 256;         // most columns, N
constexpr int kWidthStep = 8;          // N is a multiple: one 8x8 matrix of stmatrix
constexpr int kBlockK = 16;            // depth on 16-bit elements

// Limits.
constexpr int kMaxBlocksSide = 256;    // the longest side of a TMA box
constexpr int kMaxSharedBytes = 232448;  // 227 KiB, what one block may have on Hopper
constexpr int kMaxStoreTokens = 64;    // most rows of a swapped store box; a row of C is a token where M is a batch
constexpr int kMaxSplitK = 8;          // the largest cluster that every Hopper part grants

// The most rows, up to kMaxStoreTokens, that divide a swapped tile's rows into equal store boxes.
constexpr int store_tokens(int tile_m) {
  int rows = kMaxStoreTokens;
  while (tile_m % rows != 0) rows -= kWidthStep;
  return rows;
}

template <typename Problem, typename Schedule>
struct Geometry {
  using Input = typename Problem::Input;
  using Output = typename Problem::Output;

  static constexpr int kTileM = Schedule::kTileM;
  static constexpr int kTileN = Schedule::kTileN;
  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kStages = Schedule::kStages;
  static constexpr int kConsumers = Schedule::kConsumers;
  static constexpr bool kPingPong = Schedule::kPingPong;
  static constexpr int kClusterM = Schedule::kClusterM;
  static constexpr int kClusterN = Schedule::kClusterN;
  static constexpr int kClusterSize = kClusterM * kClusterN;
  static constexpr bool kBMajorN = !Problem::kTransposeB;
  static constexpr bool kSwapAB = Schedule::kSwapAB;
  static constexpr int kSplitK = Schedule::kSplitK;

  // Consumer warpgroups that share one output tile; in ping-pong each one has a tile to itself.
  static constexpr int kSharing = kPingPong ? 1 : kConsumers;
  // wgmma multiplies blocks of 64 rows by up to 256 columns. Its rows are those of the tile or, swapped, its columns.
  static constexpr int kBlocksSide = kSwapAB ? kTileN : kTileM;
  static constexpr int kWidth = kSwapAB ? kTileM : kTileN;
  static constexpr int kBlocks = kBlocksSide / (kBlockM * kSharing);  // of one consumer
  static constexpr int kAccumulators = kBlocks * kWidth / 2;          // fp32 registers a thread

  // Threads and registers. The first warpgroup produces; it gives its registers to the consumers: with two,
  // 128 * (40 + 2 * 232) = 64512 of the SM's 65536 registers are used, with three all, 128 * (32 + 3 * 160).
  static constexpr int kThreads = (1 + kConsumers) * kWarpgroupSize;
  static constexpr int kMinBlocks = 1;
  static constexpr bool kMoveRegisters = kConsumers > 1;  // one consumer has 255 from the start
  static constexpr int kProducerRegisters = kConsumers == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : 232;
  // Three consumers: ptxas wants each wgmma to fit the 128 registers a thread that 512 threads start with.
  // Split K: adding what arrives needs registers beside the accumulators. Rust takes 16 less for tanh.
  static constexpr int kMaxAccumulators = kConsumers == 3 ? 96 : kSplitK > 1 ? 128 : 192;

  // Shared memory: stages, then staging for the epilogue, then barriers.
  static constexpr int kABytes = kTileM * kSwizzleBytes;
  static constexpr int kBBytes = kTileN * kSwizzleBytes;
  static constexpr int kStageBytes = kABytes + kBBytes;
  static constexpr int kASliceRows = kTileM / kClusterN;  // what this CTA loads of a tile its cluster shares
  static constexpr int kBSliceColumns = kTileN / kClusterM;

  static constexpr int kTileRowBytes = kTileN * static_cast<int>(sizeof(Output));
  static constexpr int kStoreWidth = kSwapAB                    ? kWarpRows * static_cast<int>(sizeof(Output))
                                     : kTileRowBytes % 128 == 0 ? 128
                                     : kTileRowBytes % 64 == 0  ? 64
                                     : kTileRowBytes % 32 == 0  ? 32
                                                                : 16;  // bytes of one row of a store box
  static constexpr int kStoreColumns = kStoreWidth / static_cast<int>(sizeof(Output));
  static constexpr int kStoreRows = kSwapAB ? store_tokens(kTileM) : kWarpRows;
  static constexpr int kStoreBytes = kStoreRows * kStoreWidth;  // one warp's store box

  // Split K: the CTAs of a cluster exchange partial sums in the memory of the ring.
  static constexpr int kPartialBytes = kTileM * kTileN / kSplitK * (kSplitK - 1) * static_cast<int>(sizeof(float));

  __host__ __device__ static constexpr int shared_bytes(int epilogue_buffers) {
    const int staging = kConsumers * kWarpsPerWarpgroup * epilogue_buffers * kStoreBytes;
    const int barriers = 2 * kStages * static_cast<int>(sizeof(uint64_t));
    return kSwizzleAtomBytes + kStages * kStageBytes + staging + barriers;
  }
  // Two buffers let a store read one while the next chunk is written.
  static constexpr int kEpilogueBuffers = shared_bytes(2) <= kMaxSharedBytes ? 2 : 1;
  static constexpr int kSharedBytes = shared_bytes(kEpilogueBuffers);

  static_assert(sizeof(Input) == 2, "operands are bf16 or f16");
  static_assert(kTileK * static_cast<int>(sizeof(Input)) == kSwizzleBytes, "tile_k_is_one_swizzle_row");
  static_assert(kConsumers >= 1 && kConsumers <= 3, "consumers_one_to_three");
  static_assert(!kPingPong || kConsumers == 2, "ping_pong_takes_two_consumers");
  static constexpr bool kBlocksFit =
      kBlocksSide >= kBlockM && kBlocksSide <= kMaxBlocksSide && kBlocksSide % (kBlockM * kSharing) == 0;
  static_assert(kSwapAB || kBlocksFit, "tile_m_splits_into_wgmma_blocks");
  static_assert(!kSwapAB || kBlocksFit, "swapped_tile_n_splits_into_wgmma_blocks");
  static_assert(kSwapAB || (kTileN >= 16 && kTileN <= kMaxWidth && kTileN % kWidthStep == 0),
                "tile_n_is_a_wgmma_width");
  static_assert(!kSwapAB || (kTileM >= kWidthStep && kTileM <= kMaxWidth && kTileM % kWidthStep == 0),
                "swapped_tile_m_is_a_wgmma_width");
  static_assert(!kBMajorN || kTileN % kPanelN == 0, "row_major_b_takes_whole_swizzle_rows");
  static_assert(kAccumulators <= kMaxAccumulators, "accumulators_fit_registers");
  static_assert(kStages >= 2 && kStages <= 16, "stages_two_to_sixteen");
  static_assert((kClusterM == 1 || kClusterN == 1) && (kClusterSize == 1 || kClusterSize == 2 || kClusterSize == 4),
                "cluster_of_one_two_or_four_in_a_row");
  static_assert(kTileN % ((kBMajorN ? kPanelN : kSwizzleRows) * kClusterM) == 0,
                "cluster_slices_b_in_whole_swizzle_atoms");
  static_assert(kTileM % (kSwizzleRows * kClusterN) == 0, "cluster_slices_a_in_whole_swizzle_atoms");
  static_assert(kSplitK == 1 || kSplitK == 2 || kSplitK == 4 || kSplitK == kMaxSplitK, "split_k_one_to_eight");
  static_assert(kSplitK == 1 || (!kPingPong && kClusterSize == 1), "split_k_is_cooperative_without_multicast");
  static_assert(kWarpsPerWarpgroup * kConsumers % kSplitK == 0, "split_k_divides_the_consumer_warps");
  static_assert(kPartialBytes <= kStages * kStageBytes, "split_k_partials_fit_the_ring");
  static_assert(kSharedBytes <= kMaxSharedBytes, "shared_memory_fits");
};

}  // namespace autokernel::sm90
