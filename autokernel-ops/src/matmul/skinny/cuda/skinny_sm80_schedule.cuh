// What a schedule of the skinny_sm80 family means, and the rules that it must keep, by the names that they have in
// docs/schedules.md. The shared memory comes with the schedule: the launch needs it too.
#pragma once

#include "types.cuh"

namespace autokernel::skinny_sm80 {

constexpr int kElementBytes = 2;
constexpr int kWordElements = 8;  // of 16 bytes
constexpr int kMmaM = 16;         // mma.m16n8k16, whose rows are columns of C and whose columns are rows of C
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kRegistersPerSm = 65536;
constexpr int kMaxRegistersPerThread = 255;
constexpr int kMargin = 8;  // by which the estimate may be too low
constexpr int kMaxBlocksPerSm = 4;   // more would leave nobody more loads
// Fragments, addresses, words on their way to shared memory: an upper bound measured over the schedule space.
constexpr int kOtherRegisters = 76;

constexpr int max_of(int x, int y) { return x > y ? x : y; }
constexpr int min_of(int x, int y) { return x < y ? x : y; }

// A checked schedule with everything derived from it. kRowsAreK: B is stored as [k, n], else as [n, k].
template <typename Schedule, bool kRowsAreK, int kBodyRegisters>
struct Shape {
  static constexpr int kTileM = Schedule::kTileM;
  static constexpr int kTileN = Schedule::kTileN;
  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kWarps = Schedule::kWarps;
  static constexpr int kStages = Schedule::kStages;

  static_assert(kTileM % kMmaN == 0 && kTileM >= kMmaN && kTileM <= 64, "tile_m");
  // Eight lanes hold a word each of a row that runs along N.
  static_assert(kRowsAreK ? kTileN == 64 || kTileN == 128 : kTileN == 16 || kTileN == 32 || kTileN == 64, "tile_n");
  static_assert(kWarps == 8 || kWarps == 16, "warps");
  static_assert(kStages >= 1 && kStages <= 4, "stages");

  static constexpr int kThreads = kWarps * kWarpSize;
  // Rows of B begin at up to kWordElements places within a word, and the words of a tile at a whole one: of those of all rows
  // a word's columns less are in common.
  static constexpr int kColumns = kRowsAreK ? kTileN - kWordElements : kTileN;

  // Elements of K that a warp multiplies in a step, those that its rows lie among, and those of all warps.
  static constexpr int kWarpK = kRowsAreK ? kMmaK : 2 * kMmaK;
  static constexpr int kBlockK = kRowsAreK ? kMmaK * kWordElements : kWarpK;
  static constexpr int kStepK = kWarpK * kWarps;
  static_assert(kTileK % (kStages * kStepK) == 0 && kTileK > 0, "tile_k");
  static constexpr int kSteps = kTileK / kStepK;  // of a stretch of K

  static constexpr int kFragments = kTileN / kMmaM;
  static constexpr int kGroups = kTileM / kMmaN;  // of rows of C
  static constexpr int kWords = kRowsAreK ? kTileN / 16 : kTileN / 4;  // that a lane loads in a step
  // A body begins when no words are needed any more.
  static constexpr int kRegisters =
      kFragments * kGroups * 4 + max_of(4 * kWords * kStages, kBodyRegisters) + kOtherRegisters;
  static_assert(kRegisters <= min_of(kMaxRegistersPerThread, kRegistersPerSm / kThreads) - kMargin, "registers");
  static constexpr int kMinBlocks = min_of(kMaxBlocksPerSm, kRegistersPerSm / (kRegisters * kThreads));

  // A's rows: where B's run along N, an element of each of kWordElements classes in turn is in another part of the row.
  static constexpr int kClassPitch = kTileK / kWordElements + kWordElements;
  static constexpr int kPitchA = kRowsAreK ? kWordElements * kClassPitch + 16 : kTileK + 32;  // without bank conflicts
  static constexpr int kBytesA = kTileM * kPitchA * kElementBytes;
  static_assert(kBytesA % 16 == 0, "sums behind it");
  // Sums of kMmaN rows of C, of each warp.
  static constexpr int kPitchOfSums = ceil_div(kColumns, 16) * 16 + 1;
  static constexpr int kBytesOfSums = kWarps * kMmaN * kPitchOfSums * 4;
  static constexpr int kSharedBytes = Schedule::kSharedBytes;
  static_assert(kSharedBytes == kBytesA + kBytesOfSums, "the launch asks for rows of A and for the sums");
};

}  // namespace autokernel::skinny_sm80
