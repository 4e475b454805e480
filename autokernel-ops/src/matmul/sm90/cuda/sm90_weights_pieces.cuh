// The main loop of a consumer warpgroup of 64 rows of weights and few rows of the other factor whose warps share K: each multiplies all 64
// rows by a piece of a stage along K, so that what it loads of the other factor serves four blocks of mma in place of one, and waits for a
// stage once in several. In the end they add up what they have of each 16 rows, in the memory of the weights that they read last.
#pragma once

#include "sm90_weights_units.cuh"

namespace autokernel::ptx {

__device__ __forceinline__ void store_shared(uint32_t address, float4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

}  // namespace autokernel::ptx

namespace autokernel::sm90::weights {

constexpr int kPieceDepth = 128;        // along K: groups begin with it
constexpr int kMostColumnsOfPieces = 16;  // sums of more do not fit the weights' memory

// How the warps of a warpgroup share stages `depth` of K deep.
struct Pieces {
  int of_stage;  // of each warpgroup's rows
  int stages;    // that its warps read at once

  __host__ __device__ constexpr explicit Pieces(int depth)
      : of_stage(depth / kPieceDepth), stages(kWarpsPerWarpgroup / (depth / kPieceDepth)) {}
};

// Whether warps share K: those that have one block each, and registers for four, which there are not beside scales of small groups. A parity
// tells neighbouring laps of a stage apart and no others, so that within a tile a warp comes back to the stages that it waited for itself.
__host__ __device__ constexpr bool shares_k(int width, int blocks, int depth, int stages, int consumers, int group) {
  const bool has_registers = consumers < 3 && (group == 0 || group == kPieceDepth || (consumers == 1 && 2 * group == kPieceDepth));
  return width <= kMostColumnsOfPieces && blocks == 1 && stages % Pieces(depth).stages == 0 && has_registers;
}

// The blocks of a piece as those of a tile.
template <typename G>
struct PieceOf : G {
  static constexpr int kBlocks = kBlockM / kWarpRows;
  static constexpr int kBlocksOfOne = kBlocks;
  static constexpr int kRowsApart = kWarpRows;
};

template <typename G>
struct TileOfPieces {
  using Piece = PieceOf<G>;
  using Units = weights::Units<Piece>;
  using Part = typename Units::Part;
  using Sums = Accumulators<Piece>;
  static constexpr Pieces kPieces{G::kTileK};
  static constexpr int kUnits = kPieceDepth / kUnit;
  static_assert(kUnits % 2 == 0, "units take turns in registers");

  template <typename Issued>
  __device__ __forceinline__ static void multiply(Accumulators<G>& acc, const SharedLayout<G>& layout, RingCursor<G::kStages>& cursor,
                                                  int k_blocks, int first, const Issued& issued) {
    const SharedLayout<Piece> shared{layout.base};
    const int warp = threadIdx.x / kWarpSize % kWarpsPerWarpgroup;
    const int lane = threadIdx.x % kWarpSize;
    const int piece = warp % kPieces.of_stage, offset = warp / kPieces.of_stage;
    const typename Units::Place place{{first, lane}, first + lane / 4, piece * kUnits};
    Sums sums;
    Units units;
    Part parts[2];
    Units::clear(sums);
    units.clear();

    // The last stage that this warp reads is given back when it has been used once more.
    RingCursor<G::kStages> own = cursor;
    own.skip(offset);
    const bool has_some = offset < k_blocks;
    if (has_some) {
      wait_for_stage(shared, own);
      Units::load(parts[0], parts[1], shared, own.stage, place, 0);
    }
#pragma unroll 1
    for (int k_block = offset; k_block < k_blocks; k_block += kPieces.stages) {
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (unit + 1 < kUnits) {
          Units::load(parts[(unit + 1) % 2], parts[unit % 2], shared, own.stage, place, unit + 1);
        } else if (k_block + kPieces.stages < k_blocks) {
          __syncwarp();  // all lanes have read the stage
          release_stage(shared, own.stage);
          own.skip(kPieces.stages);
          wait_for_stage(shared, own);
          Units::load(parts[0], parts[1], shared, own.stage, place, 0);
        }
        units.multiply(sums, parts[unit % 2], unit);
      }
    }
    issued();
    units.add_to(sums);

    meet();
    if (has_some) leave(sums, sums_of(shared, own.stage, first, piece));
    meet();
    add_up(acc, shared, cursor, k_blocks, first);
    ptx::fence_async_proxy();
    meet();
    if (has_some) release_stage(shared, own.stage);
    cursor.skip(k_blocks);
  }

 private:
  static constexpr uint32_t kVectorBytes = kWarpSize * static_cast<uint32_t>(sizeof(float4));
  static constexpr int kVectors = G::kWidth / 8;  // of a lane and block
  static constexpr int kFirstBarrier = 12;        // behind those of turns and of rows
  static_assert(Piece::kBlocks * kVectors * kVectorBytes * kPieces.of_stage <= kBlockM * kSwizzleBytes, "sums fit the weights' memory");

  // The warps of the warpgroup.
  __device__ __forceinline__ static void meet() {
    ptx::named_barrier_wait(kFirstBarrier + static_cast<int>(threadIdx.x) / kWarpgroupSize, kWarpgroupSize);
  }

  // Where the sums of a piece lie, for this lane: in the stage's weights, of this warpgroup's rows.
  __device__ __forceinline__ static uint32_t sums_of(const SharedLayout<Piece>& shared, int stage, int first, int piece) {
    return shared.b(stage) + first * kSwizzleBytes + piece * (Piece::kBlocks * kVectors * kVectorBytes) +
           threadIdx.x % kWarpSize * static_cast<uint32_t>(sizeof(float4));
  }

  // Neighbouring lanes write neighbouring 16 bytes.
  __device__ __forceinline__ static void leave(const Sums& sums, uint32_t to) {
#pragma unroll
    for (int block = 0; block < Piece::kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i, to += kVectorBytes) {
        const float* const four = sums[block] + 4 * i;
        ptx::store_shared(to, make_float4(four[0], four[1], four[2], four[3]));
      }
    }
  }

  // Of the 16 rows that this warp stores what each has, in the order of stages and pieces.
  __device__ __forceinline__ static void add_up(Accumulators<G>& acc, const SharedLayout<Piece>& shared,
                                                const RingCursor<G::kStages>& cursor, int k_blocks, int first) {
    const uint32_t of_warp = threadIdx.x / kWarpSize % kWarpsPerWarpgroup * (kVectors * kVectorBytes);
#pragma unroll
    for (int i = 0; i < G::kWidth / 2; ++i) acc[0][i] = 0.0f;
#pragma unroll
    for (int offset = 0; offset < kPieces.stages; ++offset) {
      if (offset >= k_blocks) break;
      const int last = offset + (k_blocks - 1 - offset) / kPieces.stages * kPieces.stages;
      const int stage = (cursor.stage + last) % G::kStages;
#pragma unroll
      for (int piece = 0; piece < kPieces.of_stage; ++piece) {
        uint32_t from = sums_of(shared, stage, first, piece) + of_warp;
#pragma unroll
        for (int i = 0; i < kVectors; ++i, from += kVectorBytes) {
          const float4 more = ptx::load_shared_float4(from);
          float* const four = acc[0] + 4 * i;
          four[0] += more.x;
          four[1] += more.y;
          four[2] += more.z;
          four[3] += more.w;
        }
      }
    }
  }
};

}  // namespace autokernel::sm90::weights
