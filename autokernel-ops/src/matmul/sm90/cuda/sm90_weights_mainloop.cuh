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

// A unit of K is multiplied as the next one is unpacked.
template <typename G>
struct Tile {
  using Input = typename G::Input;
  static constexpr bool kGrouped = G::kGroup > 0;
  static constexpr int kUnit = G::kGroup == 32 ? 32 : kSwizzleBytes / 2;
  static constexpr int kUnits = G::kTileK / kUnit;  // of a stage
  static constexpr int kSteps = kUnit / kDepth;     // of a unit
  static_assert(kUnits % 2 == 0, "fragments take turns");

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

    int before = 0;
#pragma unroll 1
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
      const int stage = cursor.stage;
      wait_for_stage(shared, cursor);
      if constexpr (kFew) load(packed[0], shared.b(stage), row, lane, 0);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        const int ahead = kFew ? unit + 1 : unit;
        if (ahead < kUnits) load(packed[ahead % 2], shared.b(stage), row, lane, ahead);
        ptx::wgmma_wait<1>();  // what reads these fragments has ended, and of the stage before all
        // All lanes have read that one. Unconditional: in a branch it would keep wgmmas from overlapping.
        if (unit == 1) __syncwarp();
        if (unit == 1 && k_block > 0) release_stage(shared, before);
        Fragments& made = fragments[unit % 2];
        if constexpr (G::kZeros) {
          if (unit * kUnit % G::kGroup == 0) zeros.load(shared, stage, row, unit * kUnit / G::kGroup);
        }
        unpack(made, packed[unit % 2], zeros);
        if constexpr (kGrouped) {
          if (unit * kUnit % G::kGroup == 0) {
            ptx::wgmma_wait<0>();
            add_group(acc, chains[0], scales);
            load_scales<G>(scales, shared, stage, row, unit * kUnit / G::kGroup);
          }
        }
        issue(sums_of, made, shared.a(stage), unit);
      }
      before = stage;
      cursor.advance();
    }

    issued();
    ptx::wgmma_wait<0>();
    __syncwarp();
    release_stage(shared, before);
    if constexpr (kGrouped) {
      add_group(acc, chains[0], scales);
    } else {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) add(acc, chains[chain]);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) ptx::pin_accumulators(acc[block]);
    }
  }

 private:
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
            made[block][step][i] = zeros.unpack_bytes(packed[block][step][i % 2][i / 2], block, i % 2);
          } else {
            const int of_word = 2 * (step % 2) + i / 2;
            made[block][step][i] = zeros.unpack_nibbles(packed[block][step / 2][i % 2][0] >> 4 * of_word, block, i % 2);
          }
        }
      }
    }
  }

  // Issues and commits the wgmmas of one unit.
  template <typename SumsOf>
  __device__ __forceinline__ static void issue(const SumsOf& sums_of, Fragments& made, uint32_t others, int unit) {
    constexpr int kUnitsOfPanel = kSwizzleBytes / 2 / kUnit;
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
