// Sizes that follow from problem and schedule, and where things lie in shared memory.
#pragma once

#include "attention_sequences.cuh"
#include "attention_softmax.cuh"
#include "ptx/common.cuh"

namespace autokernel::attention::sm80 {

constexpr int kPanel = 64;       // elements of a row that lie together
constexpr int kFragment = 16;    // rows of an mma's A, its depth, and the columns of two
constexpr int kRowBytes = 128;   // of a panel
constexpr int kPieceBytes = 16;  // of a copy, and of a row of ldmatrix

template <typename P, typename Q, typename S>
struct Geometry {
  using Problem = P;
  using Sequences = Q;
  using Input = typename Problem::Input;
  static_assert(sizeof(Input) == 2, "attention multiplies 16-bit elements");

  static constexpr int kThreads = S::kWarps * kWarpSize;
  static constexpr int kWarpgroups = S::kWarps / kWarpsPerWarpgroup;
  static_assert(S::kWarps == 4 || S::kWarps == 8, "warps");
  // Rows come in bands of 64, of which each warp of a warpgroup has 16; a warp has some of one or two bands.
  static constexpr int kBands = S::kRowsOfWarp / kFragment;
  static_assert(kBands == 1 || kBands == 2, "rows_of_warp");
  static constexpr int kTileQueries = kWarpgroups * kBands * kRowsOfWarpgroup;
  static constexpr int kTileKeys = S::kTileKeys;
  static constexpr int kStages = S::kStages;
  static constexpr int kExpByFma = 0;
  static constexpr bool kSteps = false;
  static constexpr bool kMovesSeldom = false;  // registers are scarce: sums are always rescaled
  static_assert(kStages >= 2, "stages");
  static constexpr int kHeadDim = Problem::kHeadDim;
  static constexpr int kValueDim = Problem::kValueDim;
  static_assert(kTileKeys % kFragment == 0, "tile_keys");
  static_assert(kHeadDim % kFragment == 0 && kValueDim % kFragment == 0 && kValueDim <= 256, "dims_fit_fragments");

  // Operands lie in panels of 64 elements a row; what the last panel has beyond the dimension is not used.
  static constexpr int kHeadPanels = (kHeadDim + kPanel - 1) / kPanel;
  static constexpr int kValuePanels = (kValueDim + kPanel - 1) / kPanel;
  static constexpr int kQueryPanelBytes = kRowsOfWarpgroup * kRowBytes;
  static constexpr int kKeyPanelBytes = kTileKeys * kRowBytes;
  static constexpr int kQueryBytes = kHeadPanels * kQueryPanelBytes;  // of a band
  static constexpr int kSlotBytes = (kHeadPanels > kValuePanels ? kHeadPanels : kValuePanels) * kKeyPanelBytes;
};

// Queries of each band, then a ring of slots in which blocks of keys and of values take turns, then for each warpgroup whether
// it came last to a tile whose keys blocks share.
template <typename G>
struct Shared {
  static constexpr int kSlotsAt = G::kWarpgroups * G::kBands * G::kQueryBytes;
  static constexpr int kVerdictsAt = kSlotsAt + G::kStages * G::kSlotBytes;
  static constexpr int kBytes = kVerdictsAt + G::kWarpgroups * 4 + kRowBytes;  // with what aligns the base

  uint32_t base;

  __device__ __forceinline__ explicit Shared(const void* memory)
      : base((ptx::shared_address(memory) + kRowBytes - 1) / kRowBytes * kRowBytes) {}

  __device__ __forceinline__ uint32_t queries(int band) const { return base + band * G::kQueryBytes; }
  __device__ __forceinline__ uint32_t slots() const { return base + kSlotsAt; }
  __device__ __forceinline__ uint32_t verdict(int warpgroup) const { return base + kVerdictsAt + warpgroup * 4; }
};

}  // namespace autokernel::attention::sm80
