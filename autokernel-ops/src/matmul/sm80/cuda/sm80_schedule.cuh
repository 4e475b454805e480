// What a schedule of the sm80 family means, and the rules that it must keep, by the names that they have in
// docs/schedules.md. The shared memory comes with the schedule: the launch needs it too.
#pragma once

#include "sm80_elements.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

constexpr int kMaxThreads = 512;
constexpr int kMaxAccumulators = 128;
constexpr int kMaxRegistersPerThread = 255;
constexpr int kPartitionsPerSm = 4;  // each has its own registers, warps and tensor core
constexpr int kRegistersPerPartition = 16384;
constexpr int kRegistersPerSm = kPartitionsPerSm * kRegistersPerPartition;
constexpr int kWarpSlotsPerPartition = 12;  // the smallest capacity of the served architectures (sm_86, sm_89, sm_120)
constexpr int kOtherRegisters = 48;  // addresses, loop state: an upper bound measured over the schedule space

// Dynamic shared memory that the architecture grants one block.
constexpr int max_shared_bytes(int arch) {
  const bool is_datacenter_ampere = arch == 800 || arch == 870;
  const bool is_hopper_or_datacenter_blackwell = arch >= 900 && arch < 1200;
  return (is_datacenter_ampere ? 163 : is_hopper_or_datacenter_blackwell ? 227 : 99) * 1024;
}

#ifdef __CUDA_ARCH__
constexpr int kMaxSharedBytes = max_shared_bytes(__CUDA_ARCH__);
#else
constexpr int kMaxSharedBytes = max_shared_bytes(900);  // the host pass emits no kernel
#endif

constexpr bool is_tile_extent(int extent) { return extent == 32 || extent == 64 || extent == 128 || extent == 256; }
constexpr bool is_power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }
constexpr int max_of(int x, int y) { return x > y ? x : y; }
constexpr int min_of(int x, int y) { return x < y ? x : y; }

// A checked schedule with everything derived from it, for factors as Staged says of them, and for a body that takes kBodyRegisters beside the accumulators and
// kProducts, 1 or 2, of the same A.
template <typename Schedule, typename Factors, int kOutputBytes, int kBodyRegisters, int kProducts>
struct Shape {
  static constexpr int kTileM = Schedule::kTileM;
  static constexpr int kTileN = Schedule::kTileN;
  static constexpr int kTileK = Schedule::kTileK;
  static constexpr int kStages = Schedule::kStages;
  static constexpr int kWarpsM = Schedule::kWarpsM;
  static constexpr int kWarpsN = Schedule::kWarpsN;

  static constexpr int kRowBytesA = kTileK * Factors::kBytesOfA;  // of a stage
  static constexpr int kRowBytesB = kTileK / Factors::kNumbersOfB * Factors::kBytesOfB;
  static_assert(is_tile_extent(kTileM) && is_tile_extent(kTileN) && (kRowBytesA == 64 || kRowBytesA == 128),
                "tile");
  static_assert(kStages >= 2 && kStages <= 6, "stages");
  static_assert(is_power_of_two(kWarpsM) && is_power_of_two(kWarpsN) && kWarpsM * kWarpsN * kWarpSize <= kMaxThreads,
                "warps");

  static constexpr int kThreads = kWarpsM * kWarpsN * kWarpSize;
  static constexpr int kWarpTileM = kTileM / kWarpsM;
  static constexpr int kWarpTileN = kTileN / kWarpsN;
  static_assert(kWarpTileM > 0 && kWarpTileM % kBlock == 0 && kWarpTileN > 0 && kWarpTileN % (kBlock * kProducts) == 0,
                "warp_tile");

  // Columns of C that a tile, and of it a warp, covers. Each product's tile of B has as many, and a warp multiplies the same
  // columns of all: it holds every sum of an element.
  static constexpr int kColumns = kTileN / kProducts;
  static constexpr int kWarpColumns = kWarpTileN / kProducts;

  static constexpr int kAccumulators = kWarpTileM * kWarpTileN / kWarpSize;
  static constexpr int kHeldSums = kAccumulators * Factors::kSums;
  static_assert(kHeldSums <= kMaxAccumulators, "accumulators");

  // A body begins when the operand fragments are no longer needed.
  // Beside mma of bytes ptxas holds more of the copies of a stage, about a register for each piece of 16 bytes.
  static constexpr int kPieces = (kTileM * kRowBytesA + kTileN * kRowBytesB) / (16 * kThreads);
  static constexpr int kFragmentRegisters = (kWarpTileM + kWarpTileN) / 2 + kWarpTileN / 4 * Factors::kGroupWords +
                                            (Factors::kBytesOfA == 1 ? kPieces : 0);
  static constexpr int kRegisters = kHeldSums + max_of(kFragmentRegisters, kBodyRegisters) + kOtherRegisters;
  static_assert(kRegisters <= min_of(kMaxRegistersPerThread, kRegistersPerSm / kThreads),
                "registers");

  static constexpr int kTileBytesA = kTileM * kRowBytesA;
  static constexpr int kTileBytesB = kColumns * kRowBytesB;  // of one product
  static constexpr int kStageBytes = kTileBytesA + kProducts * kTileBytesB;
  static constexpr int kSlabBytes = kMmaM * kWarpColumns * kOutputBytes;  // of one warp
  static constexpr int kSharedBytes = Schedule::kSharedBytes;
  static_assert(kSharedBytes == max_of(kStages * kStageBytes, kWarpsM * kWarpsN * kSlabBytes),
                "the launch asks for the ring, whose memory becomes the slabs of the store");
  static_assert(kSharedBytes <= kMaxSharedBytes,
                "shared_memory");

  // Blocks an SM has registers for: the second launch bound, so that ptxas does not spend them all on one.
  static constexpr int kWarps = kWarpsM * kWarpsN;
  static constexpr int kWarpsPerPartition = min_of(kRegistersPerPartition / (kRegisters * kWarpSize),
                                                   kWarpSlotsPerPartition);
  static constexpr int kMinBlocks = max_of(1, kWarpsPerPartition * kPartitionsPerSm / kWarps);

  // Registers for operands of a body that are on their way at once, of those that this bound leaves. Each takes about three:
  // where memory is not aligned its halves come one by one, and it has an address.
  static constexpr int kResidentWarps = ceil_div(kMinBlocks * kWarps, kPartitionsPerSm);  // of a partition
  static constexpr int kAvailable = min_of(kMaxRegistersPerThread, kRegistersPerPartition / (kResidentWarps * kWarpSize));
  static constexpr int kLeft = kAvailable - kAccumulators - kBodyRegisters - kOtherRegisters;
  static constexpr int kRequestedRegisters = min_of(kLeft / 3, 16);
};

}  // namespace autokernel::sm80
