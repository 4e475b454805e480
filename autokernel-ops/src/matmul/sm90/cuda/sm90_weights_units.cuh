// What mma of each warp multiplies where one factor holds whole numbers of few bits: fragments of 16 rows of weights, loaded a unit of K at a
// time, and the sums that come of it.
//
// A step of mma adds up 16 of K, and which ones is free as long as both factors agree: fragments are loaded so that no lane takes less
// than a word.
#pragma once

#include "ptx/sm90_mma.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_weights_scales.cuh"
#include "sm90_weights_zeros.cuh"

namespace autokernel::sm90::weights {

constexpr int kUnit = kSwizzleBytes / 2;                         // of K, loaded as the one before it is multiplied
constexpr int kStepsOfUnit = kSwizzleBytes / kBlockDepthBytes;  // of mma, as deep as wgmma
constexpr int kMmaColumns = 8;
constexpr int kMostColumnsByWarps = 32;  // beyond, what each warp reads of the other factor costs more than waiting for wgmma

// Whether warps multiply on their own, tiles of `width` rows of the other factor. Of bytes in groups of 32 four lanes cannot take 16 each.
template <typename Weight>
__host__ __device__ constexpr bool multiplies_by_warps(int width, int group) {
  return width <= kMostColumnsByWarps && (kNumbers<Weight> > 1 || group != 32);
}

// The weights of a unit and what is multiplied with them, as one lane holds them.
//
// Of numbers of 4 bits, 32 of K take 16 bytes of which lane l % 4 needs one word (packed4.cuh): ldmatrix gives it that, and the pairs of
// the other factor that belong to it.
template <typename G, int kBits>
struct Unit {
  static_assert(kBits == 4, "numbers have 4 bits or 8");
  uint32_t packed[G::kBlocks][4];                  // upper and lower row of the first 32 of K, then of the second
  uint32_t others[G::kWidth / kMmaColumns][2][4];  // of 8 columns, of each 32 of K: by eights of K

  struct Lane {
    uint32_t weights, others;  // bytes from where the operand begins in the stage

    __device__ __forceinline__ Lane(int row, int lane)
        : weights((row + lane / 8 % 2 * 8 + lane % 8) * kSwizzleBytes + ((lane / 16) ^ (lane % 8)) * kTmaUnitBytes),
          others(lane % 8 * kSwizzleBytes + ((lane / 8) ^ (lane % 8)) * kTmaUnitBytes) {}
  };

  __device__ __forceinline__ void load(const Lane& lane, uint32_t weights, uint32_t panels, int unit) {
    const uint32_t first = (weights + lane.weights) ^ static_cast<uint32_t>(unit * 2 * kTmaUnitBytes);
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) ptx::load_matrices(first + row_of<G>(block) * kSwizzleBytes, packed[block]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t column = (panels + lane.others) ^ static_cast<uint32_t>(half * kSwizzleBytes / 2);
#pragma unroll
      for (int columns = 0; columns < G::kWidth / kMmaColumns; ++columns) {
        const int row = unit * G::kTileM + columns * kMmaColumns;
        ptx::load_matrices(column + row * kSwizzleBytes, others[columns][half]);
      }
    }
  }

  __device__ __forceinline__ void unpack(int block, int step, const RowZeros<G>& zeros, uint32_t (&made)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t nibbles = packed[block][step / 2 * 2 + i % 2] >> 8 * (step % 2);
      made[i] = i < 2 ? zeros.template unpack_nibbles<false>(nibbles, block, i % 2)
                      : zeros.template unpack_nibbles<true>(nibbles, block, i % 2);
    }
  }

  __device__ __forceinline__ const uint32_t* other(int columns, int step) const {
    return others[columns][step / 2] + step % 2 * 2;
  }
};

// Of bytes a lane takes 16 of K of a row, and as many of the other factor: a word serves a step. Those of the four lanes lie so that lanes
// which are served together meet every bank once, where groups let them: over the whole stage, so that its second unit is what
// the first one left.
template <typename G>
struct Unit<G, 8> {
  uint32_t packed[G::kBlocks][2][4];               // upper and lower row
  uint32_t others[G::kWidth / kMmaColumns][2][4];  // of 8 columns: by eights of K

  static constexpr bool kSpread = G::kGroup == 0 || G::kGroup == G::kTileK;
  static constexpr uint32_t kWeightsStep = (kSpread ? 1 : 4) * kTmaUnitBytes;  // from the first unit to the second
  static constexpr uint32_t kOthersTurn = kSpread ? 2 * kTmaUnitBytes : 0;     // both are bits that are turned round
  static constexpr int kOthersRows = kSpread ? 0 : G::kTileM;

  struct Lane {
    uint32_t weights, others;

    __device__ __forceinline__ Lane(int row, int lane) {
      const int quarter = lane % 4, in_atom = lane / 4;
      const int sixteen = kSpread ? 2 * quarter + quarter / 2 : quarter;  // of K
      const int panel = sixteen / 4, eight = sixteen % 4 * 2;
      weights = (row + in_atom) * kSwizzleBytes + (sixteen ^ in_atom) * kTmaUnitBytes;
      others = (panel * G::kTileM + in_atom) * kSwizzleBytes + (eight ^ in_atom) * kTmaUnitBytes;
    }
  };

  __device__ __forceinline__ void load(const Lane& lane, uint32_t weights, uint32_t panels, int unit) {
    const uint32_t first = (weights + lane.weights) ^ static_cast<uint32_t>(unit) * kWeightsStep;
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int lower = 0; lower < 2; ++lower) {
        ptx::load_shared(first + (row_of<G>(block) + 8 * lower) * kSwizzleBytes, packed[block][lower]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t column =
          (panels + lane.others) ^ (static_cast<uint32_t>(unit) * kOthersTurn + static_cast<uint32_t>(half * kTmaUnitBytes));
#pragma unroll
      for (int columns = 0; columns < G::kWidth / kMmaColumns; ++columns) {
        const int row = unit * kOthersRows + columns * kMmaColumns;
        ptx::load_shared(column + row * kSwizzleBytes, others[columns][half]);
      }
    }
  }

  __device__ __forceinline__ void unpack(int block, int step, const RowZeros<G>& zeros, uint32_t (&made)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t word = without_signs(packed[block][i % 2][step]);
      made[i] = i < 2 ? zeros.template unpack_bytes<Half::kLower>(word, block, i % 2)
                      : zeros.template unpack_bytes<Half::kUpper>(word, block, i % 2);
    }
  }

  __device__ __forceinline__ const uint32_t* other(int columns, int step) const {
    return others[columns][step / 2] + step % 2 * 2;
  }
};

// Units of a warp's blocks: loads of what belongs to one, and its products.
template <typename G>
struct Units {
  using Input = typename G::Input;
  using Loaded = Unit<G, 8 / kNumbers<typename G::Weight>>;
  using Lane = typename Loaded::Lane;
  using Sums = Accumulators<G>;
  static constexpr bool kGrouped = G::kGroup > 0;

  // Sums apart, as each mma waits for the one before that adds to the same: at least four at once.
  static constexpr int kAtOnce = G::kBlocks * G::kWidth / kMmaColumns;
  static constexpr int kChains = kGrouped || kAtOnce >= 4 ? 1 : 4 / kAtOnce;

  // Groups that end in a unit, and their scales.
  static constexpr int kGroupsOfUnit = kGrouped && G::kGroup < kUnit ? kUnit / G::kGroup : 1;
  using UnitScales = RowScales<G>[kGroupsOfUnit];

  struct Part {
    Loaded loaded;
    UnitScales scales;
    RowZeros<G> zeros[kGroupsOfUnit];
  };

  // What a lane reads of a stage, of K what begins with that unit.
  struct Place {
    Lane lane;
    int row;  // that the lane begins with
    int first_unit;
  };

  Sums chains[kChains];

  __device__ __forceinline__ static void clear(Sums& sums) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) sums[block][i] = 0.0f;
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) clear(chains[chain]);
  }

  // `unit` counts from the place's first one, where a group begins.
  __device__ __forceinline__ static void load(Part& part, const Part& before, const SharedLayout<G>& shared, int stage, const Place& place,
                                              int unit) {
    part.loaded.load(place.lane, shared.b(stage), shared.a(stage), place.first_unit + unit);
    if constexpr (kGrouped) {
      const int first_group = place.first_unit * kUnit / G::kGroup;
      if (begins_group(unit + 1, 0)) {
#pragma unroll
        for (int group = 0; group < kGroupsOfUnit; ++group) {
          const int number = first_group + (unit + 1) * kUnit / G::kGroup - kGroupsOfUnit + group;
          load_scales<G>(part.scales[group], shared, stage, place.row, number);
        }
      }
      // Of the groups that a unit belongs to: those of the unit before, where a group goes on.
      if constexpr (G::kZeros) {
#pragma unroll
        for (int group = 0; group < kGroupsOfUnit; ++group) {
          if (begins_group(unit, 0)) {
            part.zeros[group].load(shared, stage, place.row, first_group + unit * kUnit / G::kGroup + group);
          } else {
            part.zeros[group] = before.zeros[group];
          }
        }
      }
    }
  }

  __device__ __forceinline__ void multiply(Sums& acc, const Part& part, int unit) {
#pragma unroll
    for (int step = 0; step < kStepsOfUnit; ++step) {
      Sums& sums = chains[step % kChains];
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) {
        uint32_t made[4];
        part.loaded.unpack(block, step, part.zeros[step * kGroupsOfUnit / kStepsOfUnit], made);
#pragma unroll
        for (int columns = 0; columns < G::kWidth / kMmaColumns; ++columns) {
          const uint32_t* const other = part.loaded.other(columns, step);
          ptx::mma_m16n8k16_to<Input>(sums[block] + columns * (kMmaColumns / 2), made, other[0], other[1]);
        }
      }
      if constexpr (kGrouped) {
        if (begins_group(unit, step + 1)) {
          add_scaled<G>(acc, sums, part.scales[step * kGroupsOfUnit / kStepsOfUnit]);
          clear(sums);
        }
      }
    }
  }

  // Adds what was summed apart, of groups nothing, and makes sums of whole numbers of what is unpacked of them.
  __device__ __forceinline__ void add_to(Sums& acc) const {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < G::kWidth / 2; ++i) {
        if constexpr (!kGrouped) {
#pragma unroll
          for (int chain = 0; chain < kChains; ++chain) acc[block][i] += chains[chain][block][i];
        }
        acc[block][i] *= kDivisor<Input>;
      }
    }
  }

 private:
  // Whether a group begins `steps` behind the first one of a unit.
  __device__ __forceinline__ static constexpr bool begins_group(int unit, int steps) {
    return (unit * kUnit + steps * (kUnit / kStepsOfUnit)) % (kGrouped ? G::kGroup : 1) == 0;
  }
};

}  // namespace autokernel::sm90::weights
