// The main loop of a consumer warpgroup where one factor holds whole numbers of few bits: from shared memory to registers as pairs of
// floats, and from there through wgmma.
#pragma once

#include "ptx/sm90_wgmma_registers.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_weights_scales.cuh"
#include "sm90_weights_zeros.cuh"

namespace autokernel::sm90::weights {

constexpr int kDepth = kBlockDepthBytes / 2;  // of wgmma, in elements of 16 bits
constexpr int kMostRegisters = 168;           // of accumulators and fragments
constexpr int kWide = 64;                     // more columns of wgmma leave few registers
constexpr int kMostOfGroup = 128;              // numbers that share a scale

// A barrier behind those of stages, where panels of the other factor are given back one by one.
template <typename G>
__device__ __forceinline__ int barrier_of_panel(int stage, int panel) {
  return G::kStages + stage * G::kPanels + panel;
}

// Of wide tiles beside numbers of 8 bits two consumers issue their units in turns, so that one unpacks as the other's are multiplied: left to
// themselves both come to unpack at once, and tensor cores wait.
struct UnitTurns {
  static constexpr int kThreads = 2 * kWarpgroupSize;  // one waits, the other arrives
  static constexpr int kFirstBarrier = 12;             // behind those of turns and of rows

  __device__ __forceinline__ static void wait(int consumer) { ptx::named_barrier_wait(kFirstBarrier + consumer, kThreads); }
  __device__ __forceinline__ static void pass_to(int consumer) { ptx::named_barrier_arrive(kFirstBarrier + consumer, kThreads); }
};

// A unit of K is multiplied as the next one is unpacked.
template <typename G>
struct Tile {
  using Input = typename G::Input;
  static constexpr bool kGrouped = G::kGroup > 0;
  static constexpr int kUnit = G::kGroup == 32 ? 32 : kSwizzleBytes / 2;
  static constexpr int kUnits = G::kTileK / kUnit;  // of a stage
  static constexpr int kUnitsOfPanel = kSwizzleBytes / 2 / kUnit;
  // Unrolled together: of wide tiles of groups no more, as the sums of each group would have registers of their own.
  static constexpr int kUnitsAtOnce = kGrouped && G::kWidth > kWide ? 2 : kUnits;
  static constexpr int kSteps = kUnit / kDepth;  // of a unit
  static_assert(kUnits % kUnitsAtOnce == 0 && kUnitsAtOnce % 2 == 0, "fragments take turns");
  static_assert(!kGrouped || kUnitsAtOnce * kUnit % (kGrouped ? G::kGroup : 1) == 0, "whole groups are unrolled");

  // In memory: 16 bytes of a row are a chunk of the swizzle, of which a lane loads two pairs of bytes, or one word.
  static constexpr bool kOfBytes = kNumbers<typename G::Weight> == 1;
  static constexpr int kChunks = kUnit / (kTmaUnitBytes * kNumbers<typename G::Weight>);  // of a unit
  static constexpr int kPairBytes = 8;                                                    // from one pair to the other
  static constexpr int kLaneBytes = kOfBytes ? 2 : 4;
  static constexpr int kLoads = kOfBytes ? 2 : 1;

  using Packed = uint32_t[G::kBlocks][kChunks][2][kLoads];
  using Fragments = uint32_t[G::kBlocks][kSteps][4];
  using Sums = Accumulators<G>;
  // Of few rows of the other factor there are registers to load a unit ahead, and for sums apart, as each wgmma waits for the one before
  // that adds to the same.
  static constexpr bool kFew = G::kAccumulators <= 32;
  static constexpr int kChains = kGrouped ? 1 : kFew ? 4 : 0;
  // Sums of groups are waited for by each consumer alone, and 4 bits are unpacked in the time that there is.
  static constexpr bool kTakesTurns = kOfBytes && !kGrouped && !kFew && G::kSharing == 2;

  template <typename Issued>
  __device__ __forceinline__ static void multiply(Sums& acc, const SharedLayout<G>& shared, RingCursor<G::kStages>& cursor,
                                                  int k_blocks, int first, const Issued& issued) {
    const int lane = threadIdx.x % kWarpSize;
    const int row = first + threadIdx.x / kWarpSize % kWarpsPerWarpgroup * kWarpRows + lane / 4;
    Packed packed[2];
    Fragments fragments[2];
    RowScales<G> scales;
    RowZeros<G> zeros;
    Sums chains[kChains > 0 ? kChains : 1];
    clear(acc);
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) clear(chains[chain]);
    if constexpr (kGrouped) {
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) scales[block][0] = scales[block][1] = 0.0f;
    }
    const auto sums_of = [&](int step) -> Sums& {
      if constexpr (kChains == 0) {
        return acc;
      } else {
        return chains[step % kChains];
      }
    };

    const int consumer = first > 0 ? 1 : 0;
    if constexpr (kTakesTurns) {
      if (consumer == 1) UnitTurns::pass_to(0);
    }
    int before = 0;
#pragma unroll 1
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
      const int stage = cursor.stage;
      wait_for_stage(shared, cursor);
      if constexpr (kFew) load(packed[0], shared.b(stage), row, lane, 0);
#pragma unroll 1
      for (int begin = 0; begin < kUnits; begin += kUnitsAtOnce) {
#pragma unroll
        for (int turn = 0; turn < kUnitsAtOnce; ++turn) {
          const int unit = begin + turn;
          const int ahead = kFew ? turn + 1 : turn;
          if (ahead < kUnitsAtOnce) load(packed[ahead % 2], shared.b(stage), row, lane, begin + ahead);
          ptx::wgmma_wait<1>();  // what reads these fragments has ended, and of the stage before all
          give_back(shared, k_block > 0, before, stage, unit, turn);
          Fragments& made = fragments[turn % 2];
          if constexpr (G::kZeros) {
            if (turn * kUnit % G::kGroup == 0) zeros.load(shared, stage, row, unit * kUnit / G::kGroup);
          }
          unpack(made, packed[turn % 2], zeros);
          if constexpr (kGrouped) {
            if (turn * kUnit % G::kGroup == 0) {
              ptx::wgmma_wait<0>();
              add_group(acc, chains[0], scales);
              load_scales<G>(scales, shared, stage, row, unit * kUnit / G::kGroup);
            }
          }
          if constexpr (kTakesTurns) UnitTurns::wait(consumer);
          issue(sums_of, made, shared.a(stage), unit);
          if constexpr (kTakesTurns) {
            // The last turn of a tile is nobody's: the next tile's first one is passed as it begins.
            const bool is_last = consumer == 1 && k_block + 1 == k_blocks && unit + 1 == kUnits;
            if (!is_last) UnitTurns::pass_to(1 - consumer);
          }
        }
      }
      if constexpr (G::kByPanels) {
        __syncwarp();  // the weights are in registers
        release_stage(shared, stage);
      }
      before = stage;
      cursor.advance();
    }

    issued();
    ptx::wgmma_wait<0>();
    __syncwarp();
    if constexpr (G::kByPanels) {
      if (kUnitsOfPanel == 1) release_stage(shared, barrier_of_panel<G>(before, G::kPanels - 2));
      release_stage(shared, barrier_of_panel<G>(before, G::kPanels - 1));
    } else {
      release_stage(shared, before);
    }
    if constexpr (kGrouped) {
      add_group(acc, chains[0], scales);
    } else {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) add(acc, chains[chain]);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) ptx::pin_accumulators(acc[block]);
    }
    // Sums of whole numbers of what is unpacked of them.
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) acc[block][i] *= kDivisor<Input>;
    }
  }

 private:
  // As a unit is made all but the one before it have been multiplied: what of this stage and of the one `before` these were the last of.
  // All lanes have read that. Unconditional: in a branch it would keep wgmmas from overlapping.
  __device__ __forceinline__ static void give_back(const SharedLayout<G>& shared, bool has_before, int before, int stage, int unit,
                                                   int turn) {
    if constexpr (G::kByPanels) {
      if (turn % kUnitsOfPanel != kUnitsOfPanel - 1) return;
      __syncwarp();
      const int panel = (unit + kUnits - 2) % kUnits / kUnitsOfPanel;
      const int barrier = barrier_of_panel<G>(unit < 2 ? before : stage, panel);
      if (unit >= 2 || has_before) release_stage(shared, barrier);
    } else {
      if (unit == 1) __syncwarp();
      if (unit == 1 && has_before) release_stage(shared, before);
    }
  }

  __device__ __forceinline__ static void clear(Sums& sums) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) sums[block][i] = 0.0f;
      ptx::pin_accumulators(sums[block]);  // zeros before the next fence
    }
  }

  // Loads what this lane holds of a unit's rows as it is in memory. Of 16 along K it multiplies the pairs 2 (lane % 4) .. + 1 and 8
  // behind them, in two rows of each block, of which the second is 8 below the first.
  __device__ __forceinline__ static void load(Packed& packed, uint32_t tile, int row, int lane, int unit) {
    // Rows of a lane differ by multiples of 8, so that the swizzle turns the same bits for all.
    const uint32_t lane_base = tile + row * kSwizzleBytes + lane / 4 * kTmaUnitBytes + lane % 4 * kLaneBytes;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const uint32_t start = lane_base ^ static_cast<uint32_t>((unit * kChunks + chunk) * kTmaUnitBytes);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
        for (int lower = 0; lower < 2; ++lower) {
          const uint32_t at = start + (row_of<G>(block) + 8 * lower) * kSwizzleBytes;
#pragma unroll
          for (int part = 0; part < kLoads; ++part) {
            if constexpr (kOfBytes) {
              uint16_t pair;
              ptx::load_shared(at + part * kPairBytes, pair);
              packed[block][chunk][lower][part] = pair;
            } else {
              ptx::load_shared(at, packed[block][chunk][lower][part]);
            }
          }
        }
      }
    }
  }

  // What wgmma takes of that.
  __device__ __forceinline__ static void unpack(Fragments& made, const Packed& packed, const RowZeros<G>& zeros) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // the upper row and the lower one, then both 8 along K
          if constexpr (kOfBytes) {
            made[block][step][i] = zeros.unpack_bytes(without_signs(packed[block][step][i % 2][i / 2]), block, i % 2);
          } else {
            const uint32_t nibbles = packed[block][step / 2][i % 2][0] >> 8 * (step % 2);
            made[block][step][i] = i < 2 ? zeros.template unpack_nibbles<false>(nibbles, block, i % 2)
                                         : zeros.template unpack_nibbles<true>(nibbles, block, i % 2);
          }
        }
      }
    }
  }

  // Issues and commits the wgmmas of one unit.
  template <typename SumsOf>
  __device__ __forceinline__ static void issue(const SumsOf& sums_of, Fragments& made, uint32_t others, int unit) {
    // What wgmma takes from registers is there before the fence, wherever the compiler would rather make it.
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int i = 0; i < 4; ++i) ptx::hide_from_compiler(made[block][step][i]);
      }
    }
    const Descriptor panel(kDescriptorMajorK, others + unit / kUnitsOfPanel * G::kTileM * kSwizzleBytes);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t width = panel.at((unit % kUnitsOfPanel * kSteps + step) * kStepMajorK);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) {
        ptx::WgmmaRegisters<Input, false, G::kWidth>::run(sums_of(step)[block], made[block][step], width);
      }
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ static void add(Sums& acc, Sums& others) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
      ptx::pin_accumulators(others[block]);
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) acc[block][i] += others[block][i];
    }
  }

  // acc += scales of_group, and clears what is added.
  __device__ __forceinline__ static void add_group(Sums& acc, Sums& of_group, const RowScales<G>& scales) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) ptx::pin_accumulators(of_group[block]);
    add_scaled<G>(acc, of_group, scales);
    clear(of_group);
  }
};

}  // namespace autokernel::sm90::weights
