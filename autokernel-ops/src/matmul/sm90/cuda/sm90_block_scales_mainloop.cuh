// The main loop of a consumer warpgroup where blocks of both factors have scales: each stage is summed apart, scaled, and added.
//
// The tensor cores are busy with another stage while one is added: with the next one of this consumer where its registers hold two, and
// else with one of another consumer's.
#pragma once

#include "sm90_mainloop.cuh"

namespace autokernel::sm90::scales {

constexpr int kBlock = 128;          // along K, and along N of the second factor
constexpr int kAtOnce = 4;           // scales along K that are loaded together: what TMA moves at least
constexpr int kMostPartWidth = 128;  // columns of wgmma that are summed before they are scaled
constexpr int kSlotAlignment = 128;  // where TMA may write
constexpr uint32_t kScaleBytes = sizeof(float);

// Of accumulators, sums of a part, and scales: what is left of a consumer's registers by addresses and the like.
constexpr int most_registers(int consumers) { return consumers == 3 ? 120 : 200; }

// The scales of the rows of a tile, and behind them those of at most two products or blocks of columns, and a word.
template <typename G>
constexpr int kRowsBytes = G::kTileM * kAtOnce * static_cast<int>(kScaleBytes);
constexpr int kOfColumnsBytes = kSlotAlignment;
constexpr int kWordAt = kOfColumnsBytes - static_cast<int>(sizeof(uint32_t));

// The schedule as a product without scales would have it.
template <typename Schedule>
struct Unscaled : Schedule {
  static constexpr int kSlotBytes = Schedule::kTileM * kAtOnce * static_cast<int>(kScaleBytes) + kOfColumnsBytes;
  static constexpr int kSharedBytes = Schedule::kSharedBytes - kSlotAlignment - Schedule::kStages * kSlotBytes;
};

// TMA begins at a multiple of 16 bytes: anywhere else an H200 gives up with an illegal instruction.
__device__ __forceinline__ int first_of_four(int k_block) { return k_block & -kAtOnce; }

// Scales of four blocks along K: a ring of its own behind the barriers, of as many slots as there are stages. What needs a slot has a
// stage at least, so that a slot is free when a stage is. A stage that brings scales says where: its word has the number of the slot, and
// which of the four is its own.
template <typename G>
struct Slot {
  uint32_t address;

  __device__ __forceinline__ Slot(const SharedLayout<G>& shared, int number) {
    const uint32_t end = shared.full(2 * G::kStages);
    address = (end + kSlotAlignment - 1 & ~static_cast<uint32_t>(kSlotAlignment - 1)) +
              number * (kRowsBytes<G> + kOfColumnsBytes);
  }
  __device__ __forceinline__ uint32_t of_rows() const { return address; }
  __device__ __forceinline__ uint32_t of_columns() const { return address + kRowsBytes<G>; }

  // The producer's: slot `number` has scales from those of stage `stage` on, which are `first` of the four.
  __device__ __forceinline__ static void announce(const SharedLayout<G>& shared, int stage, int number, int first) {
    ptx::store_shared(word(shared, stage), __int_as_float(number * kAtOnce + first));
  }
  // The consumers': what the stage announces.
  __device__ __forceinline__ static void find(const SharedLayout<G>& shared, int stage, int& number, int& first) {
    uint32_t announced;
    ptx::load_shared(word(shared, stage), announced);
    number = announced / kAtOnce;
    first = announced % kAtOnce;
  }

  // Scale `i` of the four of a row or column.
  __device__ __forceinline__ static float load(uint32_t first, int number, int i) {
    uint32_t word;
    ptx::load_shared(first + (number * kAtOnce + i) * kScaleBytes, word);
    return __uint_as_float(word);
  }

 private:
  __device__ __forceinline__ static uint32_t word(const SharedLayout<G>& shared, int stage) {
    return Slot(shared, stage).of_columns() + kWordAt;
  }
};

// The number of the scale of a tile's column of B, which holds columns of one product and then as many of another.
template <typename G>
__host__ __device__ constexpr int number_of(int column) {
  return column / G::kColumns * G::kScalesOfProduct + column % G::kColumns / kBlock;
}

// What a lane's sums of a stage are scaled by.
template <typename G, bool kSwapped = G::kSwapAB>
struct LaneScales;

// Rows of wgmma are rows of C: of two a lane has sums in each block.
template <typename G>
struct LaneScales<G, false> {
  float rows[G::kBlocks][2];
  float columns[G::kScales];

  __device__ __forceinline__ void load(const Slot<G>& slot, int i, int first, int row, int) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int lower = 0; lower < 2; ++lower) {
        rows[block][lower] = slot.load(slot.of_rows(), first + block * kBlockM + row + 8 * lower, i);
      }
    }
#pragma unroll
    for (int number = 0; number < G::kScales; ++number) columns[number] = slot.load(slot.of_columns(), number, i);
  }

  // That of sum `sum` of `block`.
  __device__ __forceinline__ float of(int block, int sum) const {
    return rows[block][sum / 2 % 2] * columns[number_of<G>(sum / 4 * 8)];
  }
};

// Rows of wgmma are columns of C, 64 of which have one scale, and a lane has sums of two neighbouring rows of C in each 8.
template <typename G>
struct LaneScales<G, true> {
  float rows[G::kWidth / 8][2];
  float columns[G::kBlocks];

  __device__ __forceinline__ void load(const Slot<G>& slot, int i, int first, int, int lane) {
#pragma unroll
    for (int pair = 0; pair < G::kWidth / 8; ++pair) {
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) rows[pair][odd] = slot.load(slot.of_rows(), pair * 8 + lane % 4 * 2 + odd, i);
    }
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
      const int column = first + block % G::kBlocksOfOne * kBlockM;
      const int number = block / G::kBlocksOfOne * G::kScalesOfProduct + column / kBlock;
      columns[block] = slot.load(slot.of_columns(), number, i);
    }
  }

  __device__ __forceinline__ float of(int block, int sum) const { return rows[sum / 4][sum % 2] * columns[block]; }
};

// A consumer's way through the stages of a tile: waits for one, and loads the scales of its lanes.
template <typename G>
struct Stages {
  const SharedLayout<G>& shared;
  RingCursor<G::kStages>& cursor;
  int first;  // the row of the blocks' side at which this consumer begins
  int slot = 0;
  int of_four = kAtOnce;

  // The number of the stage.
  __device__ __forceinline__ int next(LaneScales<G>& scales) {
    const int lane = threadIdx.x % kWarpSize;
    const int row = threadIdx.x / kWarpSize % kWarpsPerWarpgroup * kWarpRows + lane / 4;
    const int stage = cursor.stage;
    wait_for_stage(shared, cursor);
    if (of_four == kAtOnce) Slot<G>::find(shared, stage, slot, of_four);
    scales.load(Slot<G>(shared, slot), of_four++, first, row, lane);
    cursor.advance();
    return stage;
  }

  __device__ __forceinline__ void release(int stage) const {
    __syncwarp();  // whichever lane does so: all have read their scales
    release_stage(shared, stage);
  }
};

template <typename G>
struct Tile {
  using Sums = Accumulators<G>;
  using Part = float[G::kPartWidth / 2];
  static constexpr int kParts = G::kParts;  // of a block's width

  template <typename Issued>
  __device__ __forceinline__ static void multiply(Sums& acc, const SharedLayout<G>& shared, RingCursor<G::kStages>& cursor,
                                                  int k_blocks, int first, const Issued& issued) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) acc[block][i] = 0.0f;
    }
    Stages<G> stages{shared, cursor, first};
    if constexpr (G::kOverlaps) {
      Overlapped{acc[0], stages}.multiply(k_blocks, issued);
    } else {
      one_by_one(acc, stages, k_blocks, issued);
    }
  }

 private:
  // Of one part there are registers for two: a stage is multiplied as the sums of the one before are scaled and added.
  struct Overlapped {
    Part& acc;
    Stages<G>& stages;
    Part parts[2];
    LaneScales<G> scales[2];
    int in_flight;

    template <typename Issued>
    __device__ __forceinline__ void multiply(int k_blocks, const Issued& issued) {
      in_flight = start<0>();
      int left = k_blocks - 1;
#pragma unroll 1
      for (; left >= 2; left -= 2) {
        follow<1>();
        follow<0>();
      }
      if (left == 1) {
        follow<1>();
        finish<1>(issued);
      } else {
        finish<0>(issued);
      }
    }

    template <int kNumber>
    __device__ __forceinline__ int start() {
      const int stage = stages.next(scales[kNumber]);
      issue<0>(parts[kNumber], stages.shared, stage, stages.first, 0);
      return stage;
    }

    template <int kNumber>
    __device__ __forceinline__ void follow() {
      const int stage = start<kNumber>();
      ptx::wgmma_wait<1>();
      stages.release(in_flight);
      in_flight = stage;
      add<1 - kNumber>();
    }

    template <int kNumber, typename Issued>
    __device__ __forceinline__ void finish(const Issued& issued) {
      issued();
      ptx::wgmma_wait<0>();
      stages.release(in_flight);
      add<kNumber>();
    }

    template <int kNumber>
    __device__ __forceinline__ void add() {
      add_scaled<0>(acc, parts[kNumber], scales[kNumber], 0);
    }
  };

  // `issued` is called when the last wgmma is on its way.
  template <typename Issued>
  __device__ __forceinline__ static void one_by_one(Sums& acc, Stages<G>& stages, int k_blocks, const Issued& issued) {
    Part part;  // one for all, so that no two need registers at a time
#pragma unroll 1
    for (int left = k_blocks; left > 0; --left) {
      LaneScales<G> scales;
      const int stage = stages.next(scales);
      const auto finish = [&] {
        if (left == 1) issued();
        ptx::wgmma_wait<0>();
        stages.release(stage);
      };
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) add_block(acc[block], part, scales, stages, stage, block, finish);
    }
  }

  // acc += scales part, of each part of the block's width; `finish` waits for the last wgmma of a stage.
  template <int kPart = 0, typename Finish>
  __device__ __forceinline__ static void add_block(float (&acc)[G::kWidth / 2], Part& part, const LaneScales<G>& scales,
                                                   const Stages<G>& stages, int stage, int block, const Finish& finish) {
    issue<kPart>(part, stages.shared, stage, stages.first, block);
    if (block + 1 == G::kBlocks && kPart + 1 == kParts) {
      finish();
    } else {
      ptx::wgmma_wait<0>();
    }
    add_scaled<kPart>(acc, part, scales, block);
    // Before the next part begins.
    if constexpr (G::kBlocks * kParts > 1) {
      ptx::pin_accumulators(reinterpret_cast<Part&>(acc[kPart * G::kPartWidth / 2]));
    }
    if constexpr (kPart + 1 < kParts) add_block<kPart + 1>(acc, part, scales, stages, stage, block, finish);
  }

  template <int kPart>
  __device__ __forceinline__ static void add_scaled(float (&acc)[G::kWidth / 2], Part& part, const LaneScales<G>& scales,
                                                    int block) {
    constexpr int kFirst = kPart * G::kPartWidth / 2;
    ptx::pin_accumulators(part);
#pragma unroll
    for (int i = 0; i < G::kPartWidth / 2; ++i) {
      acc[kFirst + i] = fmaf(part[i], scales.of(block, kFirst + i), acc[kFirst + i]);
    }
  }

  // Issues and commits the wgmmas of a block of 64 rows of wgmma by part `kPart` of its width.
  template <int kPart>
  __device__ __forceinline__ static void issue(Part& part, const SharedLayout<G>& shared, int stage,
                                               int first, int block) {
    using Multiply = ptx::Wgmma<typename G::Input, false, false, G::kPartWidth>;
    // Swapped, blocks are of either product.
    const int row = first + block % G::kBlocksOfOne * kBlockM + block / G::kBlocksOfOne * G::kColumns;
    const uint32_t rows = G::kSwapAB ? shared.b(stage) : shared.a(stage);
    const uint32_t columns = G::kSwapAB ? shared.a(stage) : shared.b(stage);
    const Descriptor blocks(kDescriptorMajorK, rows + row * kSwizzleBytes);
    const Descriptor width(kDescriptorMajorK, columns + kPart * G::kPartWidth * kSwizzleBytes);
    ptx::pin_accumulators(part);  // its registers are its own before the fence
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < kSwizzleBytes / kBlockDepthBytes; ++k) {
      Multiply::run(part, blocks.at(k * kStepMajorK), width.at(k * kStepMajorK), k > 0);
    }
    ptx::wgmma_commit();
  }
};

}  // namespace autokernel::sm90::scales
